#include "peers/directory_state.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/bytes.h"
#include "peers/directory.h"
#include "sotto/key_labels.h"

namespace sotto::server {
namespace {

void RequireRoster(const std::vector<std::string>& ids, const DirectoryState& state) {
  const size_t known = state.nodes.size();
  if (known > ids.size()) {
    throw std::runtime_error(
        fmt::format("the state is of {} nodes, and the roster has {}: start with the same store "
                    "and the same --peers",
                    known, ids.size()));
  }
  for (size_t i = 0; i < known; ++i) {
    if (state.nodes[i].id == ids[i]) continue;
    throw std::runtime_error(
        fmt::format("node {} of the state is {}, and of the store {}: this is the state of another "
                    "store",
                    i, state.nodes[i].id, ids[i]));
  }
}

}  // namespace

bool IsSamePublication(const PeerHead& a, const PeerHead& b) {
  return a.version == b.version && a.publisher == b.publisher && a.size == b.size &&
         std::equal(std::begin(a.digest), std::end(a.digest), b.digest);
}

void ContinueState(const ModelInfo& model, const PeerJob& job, bool has_relay,
                   const std::vector<std::string>& ids, DirectoryState* state) {
  uint8_t id[kJobIdSize];
  if (PeerJobId(model, job, id) != Status::kOk) {
    throw std::runtime_error("the job's id cannot be computed");
  }
  const bool is_new = state->nodes.empty();
  if (is_new) {
    std::copy(std::begin(id), std::end(id), state->job_id);
    state->has_relay = has_relay;
  }
  if (!std::equal(std::begin(id), std::end(id), state->job_id)) {
    throw std::runtime_error(
        "the state is of another job: give the options and the model with which it began, or a new "
        "folder to --state");
  }
  if (state->has_relay != has_relay) {
    throw std::runtime_error(
        state->has_relay ? "the state is of a directory with a relay: add --relay"
                         : "the state is of a directory without a relay: leave --relay out");
  }
  RequireRoster(ids, *state);
  for (size_t i = state->nodes.size(); i < ids.size(); ++i) {
    state->nodes.emplace_back();
    state->nodes.back().id = ids[i];
  }
}

Key PairKey(const Key& directory, const std::string& a, const std::string& b) {
  const std::string info = key_label::kPair + std::min(a, b) + '\0' + std::max(a, b);
  Key key;
  if (HkdfSha256(directory.bytes, {}, BytesOf(info), &key) != Status::kOk) {
    throw std::runtime_error("deriving a pair key failed");
  }
  return key;
}

}  // namespace sotto::server
