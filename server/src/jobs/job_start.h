// The job and the server that the options of `sotto serve` ask for. Part of sotto::server/jobs.
//
// All functions throw std::invalid_argument for options that make no job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/serve_request.h"
#include "net/server.h"
#include "sotto/data/dataset.h"
#include "sotto/options/numbers.h"
#include "store/history.h"
#include "store/store.h"

namespace sotto::server {

// "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT", which is one of 127.0.0.1.
//   option   for the message, as `example`: "--listen", "127.0.0.1:7177"
posix::HostPort AddressOf(const char* option, const std::string& text, const char* example);

ServerOptions ServerOptionsOf(const ServeRequest& request);

// The configuration of the job that begins or goes on in the store. A resumed job's noise is that
// with which it began: it was calibrated to the devices, the rounds and the spending of that time.
//   devices  eligible now
//   resumed  null: a new job
JobConfig ServedConfig(const ServeRequest& request, uint32_t devices, const History& history,
                       const JobEntry* resumed);

// The request as one for a job that goes on: without --model the job's own model is taken from the
// store, so no file is needed.
ServeRequest ResumingRequest(const ServeRequest& request, Store& store, const JobEntry& job);

// A queued job as a request to this server. The model of a file comes with what was asked.
ServeRequest RequestOf(const ServeRequest& server, const JobAsk& ask);

// Whether --new-job has begun this job already: then a restart goes on with it, however often the
// server is started. A service manager starts it again at each boot, so there a job that is over
// stays over.
bool IsRestart(const ServeRequest& request, uint32_t devices, const History& history);

// Which job of the store is served.
struct JobChoice {
  ServeRequest request;
  bool begins = false;                       // else it goes on with the last one
  int64_t answers = 0;                       // number of the request that it answers; 0: none
  std::optional<JobAsk> ask = std::nullopt;  // that it answers, to be recorded with its beginning
};

// The job with which a start of the server begins. With an option of a job, --new-job or --once it
// makes sure that this job exists: if the store has begun one with these options, it begins none.
// Otherwise it goes on with the store's last job. Absent: it serves none yet.
//   devices  eligible now
std::optional<JobChoice> ChooseFirstJob(const ServeRequest& request, uint32_t devices,
                                        const History& history, Store& store);

// The job goes on with the options with which it began. Throws std::invalid_argument if the store
// has no record of them.
JobChoice GoOnWith(const ServeRequest& request, const History& history, const JobEntry& job);

// The test set of --test; null without one, and if models are never evaluated.
SharedDataset OpenTestSet(const ServeRequest& request, const ModelInfo& model);

}  // namespace sotto::server
