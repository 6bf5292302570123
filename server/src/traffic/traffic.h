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
  Traffic operator*(double times) const { return {up * times, down * times, turns * times}; }
};

// Bytes that TLS 1.2 adds to a message: the record's header and the tag of ChaCha20-Poly1305.
constexpr uint32_t kRecordOverhead = 21;

// A TLS handshake, once a connection. Measured: tests/unit/server/traffic_test.cc.
constexpr Traffic kFullHandshake = {302, 228, 2};

// The largest messages that both sides take, kMinMaxFrame to kMaxMaxFrame.
constexpr uint32_t kBoardsFrame = 510;  // of examples/cortex_m

// One request and its reply. Throws std::invalid_argument for a message that does not fit.
Traffic TrafficOf(const Request& request, const Reply& reply, uint32_t max_frame);

// `size` bytes in as many messages as it takes: a download by GetModel, or the chunks of an upload.
//   code  Request::code; 0: float32
Traffic TrafficOfDownload(uint64_t size, uint32_t code, uint32_t max_frame);
Traffic TrafficOfUpload(uint64_t size, uint32_t max_frame);

// The parts of a participation.
struct Participation {
  Traffic task;  // Hello -> Train
  Traffic model;
  Traffic update;

  Traffic Total() const;
};

// A participation in a job.
//   download  bytes of the model's code; `is_difference` false: float32, and no offer
//   upload    bytes of the encoded update
Participation ParticipationIn(const JobConfig& job, double download, bool is_difference,
                              double upload, uint32_t max_frame);

// A poll of a device that is not asked: a later Hello of a connection, which the server holds, and
// Wait.
//   is_short  false: as devices and servers of an earlier version say it
Traffic IdlePoll(bool is_short, uint32_t max_frame);

// Bytes of an update: one of norm C along a random direction, encoded.
double UpdateBytes(const JobConfig& job);

}  // namespace sotto::server
