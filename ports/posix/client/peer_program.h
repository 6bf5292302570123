// sotto-client --peer: the node until its end, and then its outputs. Part of ports/posix/client.
// One thread at a time.
#pragma once

#include <string>

#include "options.h"
#include "peer_device.h"
#include "peer_reporter.h"
#include "sotto/log/event_log.h"

namespace sotto::posix {

class PeerProgram {
 public:
  // Throws where CheckOptions() and RequireOutputs() do, and if model or key cannot be read.
  //   options, log  outlive the program
  PeerProgram(const ClientOptions& options, EventLog& log);

  // Returns the exit status. Throws where PeerDevice does.
  int Run();

 private:
  void WriteOutputs(const Ending& ending, const PeerDevice& device) const;

  const ClientOptions& options_;
  PeerReporter reporter_;
  SharedModel model_;
  DeviceKey key_;
};

// The results as one JSON object and a line end. README.md lists the members.
std::string PeerResultsText(const ClientOptions& options, const std::string& device_id,
                            const ModelInfo& model, const Ending& ending, const PeerDevice& device,
                            const PeerTotals& totals);

}  // namespace sotto::posix
