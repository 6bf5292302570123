// The request for a server: a job, the store that it lives in, and the network. Part of
// sotto::server/net.
//
// A plain value and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/job_field.h"
#include "spec/job_request.h"

namespace sotto::server {

struct ServeRequest : JobRequest {
  std::string store;
  bool new_job = false;
  bool once = false;
  bool agrees_to_sum = false;           // `sotto job start`: see RequireLife() (jobs/life_start.cc)
  bool accepts_delta = false;           // see RequireSmallDelta() (spec/small_delta.h)
  std::optional<uint32_t> keep_models;  // absent: all
  std::string listen = "127.0.0.1:7177";
  std::string proxies;  // posix::ParseIpRanges(); empty: there are none
  std::string port_file;
  double round_timeout_s = 60;
  double release_allowance_s = 1;
  std::optional<double> poll_interval_s;  // absent: see PollInterval()
  double farewell_s = 5;
  double handshake_timeout_s = 10;
  double request_timeout_s = 30;
  uint32_t max_connections = 4096;
  uint32_t max_handshakes = 64;
  uint32_t max_handshakes_per_address = 8;
  bool refuse_tickets = false;
  std::string json;                // file for the results; empty: none, "-": standard output
  std::string model_out;           // file for the final parameters; empty: none
  std::string metrics;             // file for the metrics; empty: none
  std::string http;                // address of the operator's page; empty: none
  std::string http_token;          // file of its token; empty: beside the store
  std::string http_name;           // a proxy's name for it; empty: there is none
  std::string average_out;         // file for the average of the models; empty: none
  std::string test;                // samples to evaluate released models on; empty: none
  uint32_t evaluate_every = 1;     // rounds; 0: never
  std::string log = "lines";       // of posix::LogFormatNames()
  std::string log_level = "info";  // of posix::LogLevelNames()
  bool verbose = false;
  std::optional<uint64_t> seed;
  bool insecure_seed = false;
};

// The poll interval with which the job runs: as asked, or a second, or less if rounds are shorter
// than two seconds.
double PollInterval(const ServeRequest& request);

// Throws std::invalid_argument for options that do not fit together: a round in which a device asks
// only once would miss it for certain.
void Validate(const ServeRequest& request);

// The options of `sotto serve` besides the job's own options.
const std::vector<Field<ServeRequest>>& ServeFields();

}  // namespace sotto::server
