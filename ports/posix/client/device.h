// A device of the fleet: its dialogue with the server until the job is done. Part of
// ports/posix/client.
//
// The dialogue is that of sotto/client.h. This class adds the connection, the pauses between tries,
// the mark file and, with --verbose, a line on stderr for each step and failure. Without --verbose
// a link that fails is told at once and then seldom (complaints.h).
//
// What ends a device's part: Done, a job that the owner's options refuse, a model or a protocol
// that the server refuses; all of these over a link on which the server has proved that it knows
// the device's secret. Nothing that another party can send or suppress ends it: the device tries
// again, with pauses that double, up to 15 to 45 s.
//
// It owns all of the device's memory. One thread at a time.
#ifndef SOTTO_POSIX_CLIENT_DEVICE_H_
#define SOTTO_POSIX_CLIENT_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "complaints.h"
#include "connection.h"
#include "options.h"
#include "share.h"
#include "sotto/client.h"
#include "sotto/data/device_share.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/key_file.h"
#include "sotto/seeded_entropy.h"

namespace sotto::posix {

enum class Outcome : uint8_t {
  kDone,      // the job is done
  kRefused,   // the server refused this device's model for good, or this device the job
  kNoServer,  // no server in time (--give-up)
};

// How a device's part in a job ended.
struct Ending {
  Outcome outcome = Outcome::kDone;
  std::string why;  // for people; empty if the job is done
};

class Device {
 public:
  // Throws std::invalid_argument if --server is not HOST:PORT, and where PrepareMark() does.
  //   options  outlive the device
  //   model    constant; outlives the device
  Device(const ClientOptions& options, const ModelInfo& model, const DeviceKey& key, Share share);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Takes part in rounds until the job is done or the device can no longer take part. Blocks. Call
  // it once. Failures that pass are tried again. Throws std::runtime_error if the machine fails: no
  // entropy, TLS cannot start, the disk is full; and if the client's configuration is invalid.
  // Throws a FileError if the mark file can no longer be written.
  Ending Run();

 private:
  ClientConfig MakeConfig(const ModelInfo& model);

  // These return how it ended, once it has.
  std::optional<Ending> Step();
  std::optional<Ending> Talk();
  std::optional<Ending> TakeReply(const Reply& reply);

  void GiveRoundUp(Status status);
  Status Exchange(Reply* reply);
  void OnContact();
  void LoseLink(Status status);
  std::string WhyLost(Status status) const;
  void BackOff();
  void RememberRound();
  void SayWhatChanged(Client::Progress progress);
  void SayIfNothingIsHeldOut();
  void SayIfTrainingFailed();
  void Say(const std::string& line) const;
  void Complain(const std::string& line);
  bool LacksServer() const;

  const ClientOptions& options_;
  DeviceKey key_;
  Share share_;
  DeviceShare samples_;  // reads share_
  HeldOut held_out_;
  ClientMemory memory_;
  std::optional<SeededEntropy> entropy_;  // with --seed
  Client client_;
  Connection connection_;
  std::string marked_;  // what the mark file holds
  bool told_held_out_ = false;
  std::string said_;       // the last activity that was printed
  Complaints complaints_;  // about the link
  Complaints training_complaints_;
  uint32_t back_off_ms_;
  uint64_t last_contact_ms_;
};

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_CLIENT_DEVICE_H_
