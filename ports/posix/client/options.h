// The options of sotto-client, as the user typed them, and what their texts mean. Part of
// ports/posix/client.
//
// Values and pure functions, safe in any thread. A wrong option is a std::invalid_argument whose
// message names the option; single values are refused when the rows are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sotto/data/partitions.h"
#include "sotto/log/event_log.h"
#include "sotto/model/model_file.h"
#include "sotto/options/command.h"
#include "sotto/options/field.h"
#include "sotto/options/numbers.h"
#include "sotto/peer/peer_options.h"

namespace sotto::posix {

// The options of --record.
struct RecordOptions {
  bool is_on = false;  // --record
  std::optional<uint32_t> axes;
  std::optional<uint32_t> window;
  std::optional<uint32_t> hop;         // absent: half a window
  std::optional<std::string> element;  // SampleElementNames(); absent: float32
  std::optional<float> scale;          // absent: 1
  std::optional<uint32_t> capacity;    // windows; absent: 1000
};

// The options of --peer.
struct PeerClientOptions {
  bool is_on = false;          // --peer
  PeerJobOptions job;          // --job and the settings of a job
  std::string share = "coin";  // a text of sotto/policy/policies.h
  std::string listen;          // HOST:PORT; empty: the node does not listen
  std::string address;         // HOST:PORT that neighbours are told; empty: as --listen
  std::string public_data;     // as --data; empty: none
  std::string head_out;        // path; empty: none
  double most_rho = 0;         // zCDP; 0: the job's own limits
  double serve_s = 60;         // after the last step; >= 0
};

struct ClientOptions {
  std::string server = "127.0.0.1:7177";  // ParseServerAddresses()
  std::string kit;                        // path of the kit; empty: none. See kit.h
  std::string key;                        // path of the key file; empty: the key is in the kit
  std::string data;                       // FILE[:KEY=VALUE,...], see sotto/data/source.h
  std::string labels;                     // path of the labels of an IDX file; empty: none
  std::string samples;                    // ParseSampleRange()
  std::string sample_log;                 // path, in place of `data`; empty: none
  // Or the share that the simulator gives this device.
  std::optional<uint32_t> device;  // its number in the fleet
  std::optional<uint32_t> devices;
  std::optional<uint32_t> samples_per_device;  // absent: kDefaultSamplesPerDevice
  std::string partition = kDefaultPartition;   // sotto/data/partitions.h
  std::optional<uint64_t> partition_seed;      // absent: `seed`
  double held_out = 0;  // share of the device's samples, the last ones, not trained on; [0, 0.9]
  std::string model;    // ModelOf() has the default
  std::string accept_model;      // as in a kit (kit_file.h); empty: none but its own
  double model_memory_mb = 256;  // > 0, of an accepted model
  double round_s = 0;            // the most for a training; 0: no limit
  bool once = false;             // the device ends with the job
  bool check = false;            // it only looks, see check.h
  std::string keep_model;        // path of a folder; empty: released models are not kept
  bool fetch_only = false;       // it fetches the released model, see fetch.h
  std::string mark;              // path; MarkPath() has the default
  double give_up_s = 0;          // 0: never
  bool resume_tls = false;
  double hold_s = 25;  // [0, 50]; 0: poll
  bool allow_no_privacy = false;
  double min_private_noise = 0;      // a noise multiplier; 0: the server is trusted
  uint32_t max_private_updates = 0;  // 0: no limit
  std::string ledger;                // path; LedgerPath() has the default
  bool verbose = false;              // the same as log_level "debug"
  std::string log = "lines";         // LogFormatNames()
  std::string log_level = "info";    // LogLevelNames()
  std::string json;                  // paths of outputs; empty: none
  std::string model_out;
  std::string config;            // path of the file that options were read from; empty: none
  std::optional<uint64_t> seed;  // INSECURE: for tests
  bool insecure_seed = false;
  PeerClientOptions peer;
  RecordOptions record;
  std::set<std::string> given = {};  // names of the options that were typed, or in --config
  std::string state = {};  // how the names of state files begin; empty: the name of the key file
};

// The program `sotto-client`.
//   run  gets the options, unchecked
Command ClientCommand(std::function<void(const ClientOptions&)> run);

// The rows among which are those that a kit may set.
std::vector<Field<ClientOptions>> RowsOfKits();

// Throws if options contradict each other or a text has the wrong form. It opens no file.
void CheckOptions(const ClientOptions& options);

// The model that --model names, or that is in its file; without that option softmax-784-10, or with
// --accept-model null: the server's. Throws if there is none.
SharedModel ModelOf(const ClientOptions& options);

// How the program logs.
LogOptions LogOptionsOf(const ClientOptions& options);

// How the names of the files begin in which the device keeps its state, unless they are given.
const std::string& StatePath(const ClientOptions& options);

// The file of --mark.
std::string MarkPath(const ClientOptions& options);

// The file of --ledger.
std::string LedgerPath(const ClientOptions& options);

// Where a device keeps its personal layers.
std::string PersonalPath(const ClientOptions& options);

// The limit of --most-rho in units of 2^-40, rounded down.
uint64_t MostRhoQ40(const PeerClientOptions& options);

// Parses --server: HOST:PORT, or several with commas between them; at least one. Throws for any
// other text, and for port 0.
std::vector<HostPort> ParseServerAddresses(const std::string& text);

// `count` samples from `first` on.
struct SampleRange {
  size_t first = 0;
  size_t count = 0;
};

// Parses the FIRST:COUNT of --samples; an empty text means all samples. Throws for any other text,
// for an empty range and for one that exceeds the file.
//   total  samples of the file
SampleRange ParseSampleRange(const std::string& text, size_t total);

// The same before the file is read: an empty text means as many samples as can be.
SampleRange ParseSampleRange(const std::string& text);

}  // namespace sotto::posix
