#include "store/history.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "spec/configuration.h"

namespace sotto::server {
namespace {

// True if the two ascending lists have a common number.
bool Share(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

std::vector<int64_t> EligibleDevices(const History& history) {
  std::vector<int64_t> devices;
  for (const DeviceRecord& device : history.devices) {
    if (device.is_eligible()) devices.push_back(device.number);
  }
  return devices;
}

std::vector<int64_t> Union(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

}  // namespace

const JobEntry* LastJob(const History& history) {
  return history.jobs.empty() ? nullptr : &history.jobs.back();
}

privacy::Plan PlanOf(const History& history, const JobEntry& job) {
  return PlanFromConfiguration(history.store, job.configuration);
}

void RequireEnoughDevices(const History& history, const JobEntry* job) {
  if (job == nullptr) return;
  const int64_t begun_with = PlanOf(history, *job).devices;
  const auto left = static_cast<int64_t>(EligibleDevices(history).size());
  if (left >= begun_with) return;
  throw std::runtime_error(fmt::format(
      "{}: job {} began with {}, and {} left that no `sotto keys revoke` shut out; a job goes on "
      "only with as many: add a device for each that was revoked (sotto keys new), or begin the "
      "next job with those that are left (sotto serve --new-job)",
      history.store, job->number, Counted(begun_with, "device"),
      left == 1 ? "1 is" : fmt::format("{} are", left)));
}

std::vector<int64_t> JobsBefore(const History& history, const JobEntry& job) {
  std::vector<int64_t> jobs;
  for (const JobEntry& other : history.jobs) {
    if (other.number < job.number && Share(other.devices, job.devices)) {
      jobs.push_back(other.number);
    }
  }
  return jobs;
}

std::vector<privacy::SpentRounds> SpentBefore(const History& history, const JobEntry* job) {
  std::vector<int64_t> devices = EligibleDevices(history);
  if (job != nullptr) devices = Union(devices, job->devices);
  std::vector<privacy::SpentRounds> spent;
  for (const JobEntry& other : history.jobs) {
    if (job != nullptr && other.number >= job->number) break;
    if (!Share(other.devices, devices)) continue;
    spent.push_back({PlanOf(history, other), other.released + other.surcharge, other.attempts,
                     other.surcharge});
  }
  return spent;
}

bool RestsOnSeededNoise(const History& history, const JobEntry& job) {
  const auto is_seeded_and_eligible = [](const DeviceRecord& device) {
    return device.seeded && device.is_eligible();
  };
  if (std::any_of(history.devices.begin(), history.devices.end(), is_seeded_and_eligible)) {
    return true;
  }
  return std::any_of(history.jobs.begin(), history.jobs.end(), [&](const JobEntry& other) {
    return other.seeded && (other.number == job.number ||
                            (other.number < job.number && Share(other.devices, job.devices)));
  });
}

std::vector<privacy::Claim> ClaimsToKeep(const ReleaseRecord& record) {
  if (record.codec->certified && !record.spent.claims.empty()) return record.spent.claims;
  privacy::Claim released;
  released.accountant = "rdp";  // the name that ledgers without privacy have always had
  privacy::Claim watched = released;
  watched.adversary = privacy::Adversary::kNetwork;
  watched.view = privacy::View::kReleasesAndParticipants;
  return {released, watched};
}

privacy::Plan PlanOfRound(const ReleaseRecord& record) {
  privacy::Plan plan = record.plan;
  if (plan.clip_bit_scale != 0) plan.clip_bit_scale *= record.clip_l2 / plan.clip_l2;
  if (plan.accuracy_scale != 0) plan.accuracy_scale *= record.clip_l2 / plan.clip_l2;
  plan.schedule = {};
  plan.clip_l2 = record.clip_l2;
  plan.noise_sigma = record.noise_sigma;
  return plan;
}

const JobEntry* JobToResume(const History& history, const JobRecord& record, bool may_begin) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr || may_begin) return nullptr;
  RequireSameConfiguration(history.store, last->configuration, ConfigurationToJson(record));
  if (!std::equal(record.job_id.begin(), record.job_id.end(), std::begin(last->job_id),
                  std::end(last->job_id))) {
    throw std::runtime_error(history.store +
                             ": it holds a job that is under way; resume that one, or begin "
                             "another one after it");
  }
  return last;
}

JobState StateOf(const JobEntry& job, const StoredModel* model) {
  JobState state;
  std::copy(std::begin(job.job_id), std::end(job.job_id), state.job_id);
  state.next_round = static_cast<uint32_t>(job.released);
  state.next_attempt = static_cast<uint32_t>(job.next_attempt);
  state.attempts = static_cast<uint32_t>(job.attempts);
  state.surcharge = static_cast<uint32_t>(job.surcharge);
  if (model != nullptr) {
    state.parameters = model->parameters;
    state.optimiser_state = model->optimiser_state;
    state.clip_l2 = model->next_clip_l2;
  }
  return state;
}

std::optional<JobState> ReadState(Store& store, const JobEntry* job) {
  if (job == nullptr) return std::nullopt;
  if (job->released == 0 && store.ListModels(job->number).empty()) return StateOf(*job, nullptr);
  static_assert(kFirstModel == -1, "is the model before round 0");
  const StoredModel model = store.ReadModel(job->number, job->released - 1);
  return StateOf(*job, &model);
}

}  // namespace sotto::server
