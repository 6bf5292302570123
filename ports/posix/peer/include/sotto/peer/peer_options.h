// The job that nodes without a server share, as options of a program and as a file. Part of
// sotto::peer_options.
//
//   sotto directory --job peers.toml                 or each setting as an option:
//   sotto directory --rule average --batch-size 50 --noise 0.25 ...
//
// A file is TOML with the same names, "noise = 0.25". `sotto simulate --topology peers --job-out`
// writes one. Directory and nodes must agree on all of it, and on the model: both are in the job's
// id. Numbers survive the way into a file and back bit for bit.
//
// The table in peer_options.cc is the only list of the settings: command line, file and help come
// from it. One thread at a time.
#ifndef SOTTO_PEER_PEER_OPTIONS_H_
#define SOTTO_PEER_PEER_OPTIONS_H_

#include <map>
#include <string>

#include "sotto/peer_job.h"

namespace CLI {
class App;
}

namespace sotto::posix {

// What the user has written.
struct PeerJobOptions {
  std::string file;                          // --job; empty: none
  std::map<std::string, std::string> given;  // options by name, without dashes
};

// Declares --job and an option for each setting. `options` outlives the parse.
void AddPeerJobOptions(CLI::App& app, PeerJobOptions* options);

// The job: the defaults of PeerJob, then the file, then the options. Throws std::invalid_argument
// that names the option, or the file and its line, and what is expected; posix::FileError.
PeerJob PeerJobOf(const PeerJobOptions& options);

// The job as the text of a file, all settings in it.
std::string PeerJobText(const PeerJob& job);

// The job as a C++ header for firmware, which has `constexpr sotto::PeerJob kPeerJob`.
std::string PeerJobHeader(const PeerJob& job);

// Reads the text of a file.
//   path  for messages
// Throws std::invalid_argument.
PeerJob ParsePeerJob(const std::string& path, const std::string& text);

// Throws std::invalid_argument, which says what to do, if the job's unit or rate does not suit the
// model.
void RequirePeerJobSuits(const ModelInfo& model, const PeerJob& job);

const char* NameOf(PeerRule rule);  // "average", "shared", "accumulate"
const char* NameOf(PeerUnit unit);  // "none", "sample", "device"

}  // namespace sotto::posix

#endif  // SOTTO_PEER_PEER_OPTIONS_H_
