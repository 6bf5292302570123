// A device of the fleet: its dialogue with the server until the job is done. Part of
// ports/posix/client.
//
// The dialogue is that of sotto/client.h. This class adds the connection, the pauses between tries,
// the mark file, and what a Reporter tells.
//
// What ends a device's part: Done, a job that the owner's options refuse, a model or a protocol
// that the server refuses; all of these over a link on which the server has proved that it knows
// the device's secret; and the owner, by --give-up or a stop signal. Nothing that another party can
// send or suppress ends it: the device tries again, with pauses that double, up to 15 to 45 s.
//
// A stop signal (sotto/posix/signals.h) is noticed between two batches of a training, and at once
// in a pause or in a wait for the server; the look-up of the server's name alone is not cut.
//
// It owns all of the device's memory. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "connection.h"
#include "ending.h"
#include "options.h"
#include "reporter.h"
#include "share.h"
#include "sotto/client.h"
#include "sotto/data/device_share.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/record_store.h"
#include "sotto/seeded_entropy.h"
#include "tries.h"

namespace sotto::posix {

class Device {
 public:
  // Throws std::invalid_argument if --server is not HOST:PORT, and where PrepareMark() does. Throws
  // a FileError if the ledger of updates is damaged or cannot be read.
  //   options   outlive the device
  //   model     constant; outlives the device
  //   reporter  outlives the device; told of everything but the ending
  Device(const ClientOptions& options, const ModelInfo& model, const DeviceKey& key, Share share,
         Reporter& reporter);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Takes part in rounds until the job is done or the device can no longer take part, and closes
  // the connection. Blocks. Call it once. Failures that pass are tried again. Throws
  // std::runtime_error if the machine fails: no entropy, TLS cannot start, the disk is full; and if
  // the client's configuration is invalid. Throws a FileError if the mark file or the ledger can no
  // longer be written.
  Ending Run();

  // [model.parameters] the newest model that was downloaded whole, as it came; empty: none was.
  Span<const float> downloaded_model() const;

  // What the ledger says that this device has spent; absent: it cannot be read.
  std::optional<PrivateSpending> private_spending();

 private:
  ClientConfig MakeConfig(const ModelInfo& model);
  void RequireLedger();
  std::string WhyRefused(const TrainTask& task) const;
  Ending RefusedTask(const TrainTask& task) const;
  Ending EndingOf(const Reply& reply) const;
  Ending RunUntilEnd();

  // These return how it ended, once it has.
  std::optional<Ending> Step();
  std::optional<Ending> Talk();
  std::optional<Ending> TakeReply(const Reply& reply);

  void GiveRoundUp(Status status);
  void FollowReply(Client::State before, const Reply& reply);
  Status Exchange(Reply* reply);
  bool Open();
  Status AwaitReply(Reply* reply);
  void ReportLink();
  void OnContact();
  void LoseLink(Status status);
  void RememberRound();
  void ReportIfNothingIsHeldOut();

  const ClientOptions& options_;
  const ModelInfo& model_;
  DeviceKey key_;
  Share share_;
  DeviceShare samples_;  // reads share_
  HeldOut held_out_;
  ClientMemory memory_;
  RecordStore records_;
  std::optional<SeededEntropy> entropy_;  // with --seed
  Client client_;
  Connection connection_;
  Reporter& reporter_;
  bool has_model_ = false;
  bool is_new_link_ = false;  // the reporter was not told of the link yet
  std::string marked_;        // what the mark file holds
  Tries tries_;
};

}  // namespace sotto::posix
