// What a participation of a device costs on its link. Part of sotto::server/traffic.
//
// The messages are encoded as a device and a server encode them, so their bytes are counted, not
// estimated. Each message is a frame, and each frame a record of TLS. Bytes are counted in the
// stream under TLS: what TCP, IP or a radio adds comes on top.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>

#include "round/job_config.h"
#include "sotto/messages.h"

namespace sotto::server {

// Means may have fractions.
struct Traffic {
  double up = 0;     // bytes from the device
  double down = 0;   // bytes to it
  double turns = 0;  // turnarounds: one request and its reply

  Traffic& operator+=(const Traffic& other);
  double Bytes() const { return up + down; }
};

// Bytes that TLS 1.2 adds to a message: the record's header and the tag of ChaCha20-Poly1305.
constexpr uint32_t kRecordOverhead = 21;

// A TLS handshake, once a connection: a full one, and one that resumes a session by a ticket
// (tls_tickets.h). sdk/FOOTPRINT.md has the measurement.
constexpr Traffic kFullHandshake = {272, 233, 2};
constexpr Traffic kResumedHandshake = {333, 139, 1};

constexpr uint32_t kBoardsFrame = 510;  // the largest message of examples/cortex_m

// How messages travel.
struct LinkShape {
  uint32_t max_frame = kBoardsFrame;  // the largest message that both sides take
  // Below TLS a link of small frames (sotto/frame_link.h) of so many bytes, without losses; 0: a
  // stream, such as TCP.
  uint32_t link_frame = 0;
  uint32_t window = 16;  // frames in a turn of that link
};

// A handshake, of which only the sums are measured: in flights of equal size.
Traffic HandshakeOver(const Traffic& handshake, const LinkShape& link);

// One request and its reply. Throws std::invalid_argument for a message that does not fit.
Traffic TrafficOf(const Request& request, const Reply& reply, const LinkShape& link);

// `size` bytes in as many messages as it takes: a download by GetModel, or the chunks of an upload.
//   code  Request::code; 0: float32
Traffic TrafficOfDownload(uint64_t size, uint32_t code, const LinkShape& link);
Traffic TrafficOfUpload(uint64_t size, const LinkShape& link);

// The parts of a participation.
struct Participation {
  Traffic task;  // Hello -> Train
  Traffic model;
  Traffic update;

  Traffic Total() const;
};

// What a task offers.
enum class Offer : uint8_t {
  kNone,     // an earlier version: the model comes as float32
  kFloat32,  // the model as float32, with its check
  kCode,
};

// A participation in a job.
//   download  bytes of the model, as it is offered
//   upload    bytes of the encoded update
Participation ParticipationIn(const JobConfig& job, Offer offer, double download, double upload,
                              const LinkShape& link);

// A poll of a device that is not asked: a later Hello of a connection, which the server holds, and
// Wait.
Traffic IdlePoll(const LinkShape& link);

// Bytes of an update: one of norm C along a random direction, encoded.
//   job  of a codec that devices have (UpdateCodecInfo::servable)
double UpdateBytes(const JobConfig& job);

}  // namespace sotto::server
