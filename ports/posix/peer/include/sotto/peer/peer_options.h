// The job that nodes without a server share, as options of a program and as a file. Part of
// sotto::peer_options.
//
//   sotto peers directory --job peers.toml           or each setting as an option:
//   sotto peers directory --rule average --batch-size 50 --noise 0.25 ...
//
// A file is TOML with the same names, "noise = 0.25". `sotto peers simulate --job-out` writes one.
// Directory and nodes must agree on all of it, and on the model: both are in the job's id. Numbers
// survive the way into a file and back bit for bit.
//
// PeerJobFields() is the only list of the settings: every program's command line, file and help
// come from it. One thread at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sotto/options/field.h"
#include "sotto/peer_job.h"

namespace sotto {

const char* Name(PeerRule rule);  // "average", "shared", "accumulate"
const char* Name(PeerUnit unit);  // "none", "sample", "device"

}  // namespace sotto

namespace sotto::posix {

constexpr char kPeerJobGroup[] = "The nodes' job, the same for the directory and all nodes";

// A row for each setting, in the order of a file.
const std::vector<Field<PeerJob>>& PeerJobFields();

// What the user has written.
struct PeerJobOptions {
  std::string file;             // --job; empty: none
  PeerJob settings;             // the options that were given; the others have PeerJob's defaults
  std::set<std::string> given;  // their names
};

// --job and the rows of PeerJobFields().
std::vector<Field<PeerJobOptions>> PeerJobOptionFields();

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

}  // namespace sotto::posix
