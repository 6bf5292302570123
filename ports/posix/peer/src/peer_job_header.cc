#include <fmt/format.h>
#include <string>

#include "sotto/peer/peer_options.h"

namespace sotto::posix {

// Floats as hexadecimal literals: every bit arrives.
std::string PeerJobHeader(const PeerJob& job) {
  std::string salt;
  for (const uint8_t byte : job.salt) salt += fmt::format("{}{}", salt.empty() ? "" : ", ", byte);
  return fmt::format(
      "// The job of nodes without a server, for their firmware. Written by sotto; do not edit.\n"
      "#ifndef SOTTO_PEER_JOB_HEADER_H_\n"
      "#define SOTTO_PEER_JOB_HEADER_H_\n"
      "\n"
      "#include \"sotto/peer_job.h\"\n"
      "\n"
      "constexpr sotto::PeerJob kPeerJob = {{\n"
      "    sotto::PeerRule({}), sotto::PeerUnit({}),\n"
      "    {},      // batch_size\n"
      "    {:a}f,  // learning_rate\n"
      "    {:a}f,  // weight_decay\n"
      "    {:a}f,  // range\n"
      "    {:a}f,  // error_clip\n"
      "    {:a}f,  // feature_norm\n"
      "    {:a}f,  // clip_l2\n"
      "    {},      // noise_q20\n"
      "    {},      // passes\n"
      "    {},      // most_local_steps\n"
      "    {},      // publication_steps\n"
      "    {},      // most_releases\n"
      "    {{{}}},  // salt\n"
      "}};\n"
      "\n"
      "#endif  // SOTTO_PEER_JOB_HEADER_H_\n",
      static_cast<int>(job.rule), static_cast<int>(job.unit), job.batch_size, job.learning_rate,
      job.weight_decay, job.range, job.error_clip, job.feature_norm, job.clip_l2, job.noise_q20,
      job.passes, job.most_local_steps, job.publication_steps, job.most_releases, salt);
}

}  // namespace sotto::posix
