// Tells what a node without a server does: events for the log, totals for the results. Part of
// ports/posix/client. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "ending.h"
#include "peer_events.h"
#include "reporter.h"
#include "sotto/peer_node.h"

namespace sotto::posix {

// Of one process.
struct PeerTotals {
  uint64_t published = 0;
  uint64_t accepted = 0;
  uint64_t fallbacks = 0;
  uint64_t bytes_published = 0;
  uint64_t began_ms = 0;  // NowMs()
};

class PeerReporter {
 public:
  // The log outlives the reporter.
  //   directory  HOST:PORT, for people
  PeerReporter(EventLog& log, std::string directory);

  void Started(const ModelInfo& model, uint32_t samples, const std::string& statement);
  void Listening(uint16_t port);

  // The directory has proved itself on a new link.
  void Connected();
  void Joined(const PeerNode& node, const PeerTrainer& trainer);
  void Retrying(const Failure& failure, uint32_t pause_ms);
  void NeighbourLost(const PeerPlace& place, const Failure& failure);

  // A publication's bytes are fixed. `head` was granted; the publication builds on `base`.
  void Published(const PeerTrainer& trainer, uint32_t head, uint32_t base);
  // Its bytes were adopted.
  void Adopted(uint32_t step, bool is_accepted);
  void Serving(uint32_t version, double seconds);

  void Ended(const Ending& ending, const PeerTrainer& trainer);

  const PeerTotals& totals() const { return totals_; }

 private:
  EventLog& log_;
  const std::string directory_;
  PeerTotals totals_;
};

}  // namespace sotto::posix
