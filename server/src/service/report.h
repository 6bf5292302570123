// What `sotto serve` tells its operator about attempts: lines of the log, warnings, and the object
// `operator` of the JSON results; and the files that it writes when it ends. Part of
// sotto::server/service.
//
// All of it is the operator's. Counts, bytes and times of an attempt tell who took part, and no
// claim against the public covers them (PRIVACY.md, section 1). `sotto account ledger --published`
// prints what may be shown.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/serve_request.h"
#include "net/server.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "round/round_outcome.h"
#include "service/evaluation.h"
#include "spec/inputs.h"
#include "store/ledger.h"

namespace sotto::server {

// One line about an attempt: what it released and what is spent, or that it was given up and what
// the server has seen of it; and the devices that lacked something that the job needs.
std::string DescribeOutcome(const JobConfig& config, const RoundOutcome& outcome, bool seeded);

// What an operator must look at after this attempt, one line each, with what to check:
//   - an attempt in which no device had what the job needs;
//   - a release in which less than half of the drawn devices reported;
//   - a result that was published after its time;
//   - devices whose update was refused because its norm was beyond the bound.
std::vector<std::string> WarningsOf(const RoundOutcome& outcome, const DeviceRegistry& devices);

// Collects the attempts of one process for the JSON results. What an earlier process of the job saw
// is in its log alone: `first_attempt` says where this one began.
class OperatorReport {
 public:
  //   devices  gives the newest registry
  explicit OperatorReport(std::function<SharedDevices()> devices);
  ~OperatorReport();
  void Add(const RoundOutcome& outcome);
  void Warn(const std::string& line);
  nlohmann::ordered_json ToJson() const;

  // A release's row of the results with what this start of the server saw of it; null where an
  // earlier start saw it.
  nlohmann::ordered_json RoundToJson(const LedgerEntry& release) const;

 private:
  const std::function<SharedDevices()> devices_;
  struct Lists;
  const std::unique_ptr<Lists> lists_;
};

// The files that the command reads.
std::vector<NamedInput> InputsOf(const ServeRequest& request);

// Throws as ::sotto::server::RequireOutputs() does, for all outputs of the command.
void RequireServeOutputs(const ServeRequest& request);

// The port, to the file of --port-file.
void WritePortFile(const ServeRequest& request, uint16_t port);

// Model, average and JSON: the whole statement, all rounds of all server processes, and what this
// start of the server saw. Also of a job that a signal stopped.
//   inputs  what this start of the server read
//   end     of the job
struct ServeEnd {
  const char* state;  // as JobStanding has it
  const char* ended;  // the same
  std::string why;    // for people
};
void WriteResults(const ServeRequest& request, const InputDigests& inputs, const ServeEnd& end,
                  SharedLog& log, Job& job, const OperatorReport& report,
                  const ServedEvaluations& evaluations, const NetworkFigures& network);

}  // namespace sotto::server
