// The newest release of each net, for the devices that fetch it: of the job that runs, else of the
// store's newest job that has released a model of this net. Part of sotto::server/service.
//
// What a device gets is public: the epsilon against the public covers a release, and its claims are
// the ledger's (PRIVACY.md, section 1).
//
// One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "downloads/model_codes.h"
#include "plans/claim.h"
#include "round/job.h"
#include "sotto/messages.h"
#include "sotto/model/model_file.h"
#include "store/history.h"
#include "store/store.h"

namespace sotto::server {

// What is claimed for a release, in one line of at most kMaxClaimsSize bytes: the first claim, and
// the others as far as there is room.
//   is_seeded  its noise derives from a seed
std::string ClaimsInBrief(const std::vector<privacy::Claim>& claims, bool is_seeded);

class Releases {
 public:
  //   poll_interval_ms  after which a device asks again while there is no release
  explicit Releases(uint32_t poll_interval_ms) : poll_interval_ms_(poll_interval_ms) {}

  // The jobs of the store.
  //   served  number of one that OnBegin() will tell; 0: none
  // Returns what is wrong with releases that devices cannot fetch, for a log, a line each: a
  // damaged model keeps no server from its next job.
  std::vector<std::string> Load(Store& store, int64_t served);

  // The job that runs from now on; what it has released so far.
  //   number  in the store
  //   claims  after that; of no interest before its first release
  void OnBegin(int64_t number, const Job& job, const std::vector<privacy::Claim>& claims,
               bool is_seeded);
  // It has shown a release.
  //   rounds     released so far
  //   threshold  that came with it
  void OnRelease(uint32_t rounds, const std::vector<privacy::Claim>& claims,
                 std::optional<double> threshold = std::nullopt);
  // It is over.
  //   is_final  no later start goes on with it
  void OnEnd(bool is_final);

  // Of all models that had one when somebody looked. A model gets another one at any time: `sotto
  // model attach`. What a release has brought since stays.
  void OnThresholds(std::vector<ModelThreshold> thresholds);

  // See JobSource. A reply's bytes live until the next call of another method.
  Reply AnswerRelease(const Request& request);
  uint32_t NewestRelease(const Request& hello) const;
  Reply AnswerCode(const Request& request);

 private:
  using Digest = std::array<uint8_t, kSha256Size>;
  struct Entry {
    int64_t job = 0;  // its number in the store
    std::array<uint8_t, kJobIdSize> job_id{};
    std::string model;
    uint32_t rounds = 0;  // released
    bool is_final = false;
    bool is_seeded = false;
    std::string claims;
    float threshold = 0;  // 0: there is none
    std::shared_ptr<ModelCodes> codes;
    uint32_t mark = 0;  // Reply::release
  };

  static Digest DigestOf(const ModelInfo& model);
  static Entry ReadEntry(Store& store, const History& history, const JobEntry& job,
                         const posix::SharedModel& model);
  void SetThreshold(Entry* entry) const;
  void Show(const Digest& digest, Entry entry);

  const uint32_t poll_interval_ms_;
  std::map<Digest, Entry> newest_;  // of each net that has a release
  std::string newest_model_;        // the name of the one that was released last
  Digest served_digest_{};
  Entry served_;  // of the job that runs, or ran last
  std::vector<ModelThreshold> thresholds_;
};

}  // namespace sotto::server
