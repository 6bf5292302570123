// The files that `sotto serve` writes when it ends. Part of sotto::server/service.
#pragma once

#include <cstdint>
#include <string>

#include "net/serve_request.h"
#include "net/server.h"
#include "service/evaluation.h"
#include "service/report.h"

namespace sotto::server {

// Throws as ::sotto::server::RequireOutputs() does, for all outputs of the command.
void RequireServeOutputs(const ServeRequest& request);

// The port, to the file of --port-file.
void WritePortFile(const ServeRequest& request, uint16_t port);

// Model, average and JSON: the whole statement, all rounds, whoever served them, and what this
// start of the server saw. Also of a job that a signal stopped.
//   end  of the job
struct ServeEnd {
  const char* state;  // "finished", "gave-up", "stopped"
  std::string why;    // for people
};
void WriteResults(const ServeRequest& request, const ServeEnd& end, Store& store, Job& job,
                  const OperatorReport& report, const ServedEvaluations& evaluations,
                  const NetworkFigures& network);

}  // namespace sotto::server
