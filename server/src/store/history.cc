#include "store/history.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "round/turn_book.h"
#include "spec/configuration.h"
#include "store/life.h"
#include "store/recovery.h"

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

// The released rounds in [first, end) of which no record says who was drawn: all were.
int64_t UnrecordedRounds(const JobEntry& job, int64_t first, int64_t end) {
  std::set<int64_t> recorded;
  for (const SealRecord& seal : job.seals) recorded.insert(seal.round);
  int64_t rounds = 0;
  for (int64_t round = first; round < std::min(end, job.released); ++round) {
    rounds += recorded.count(round) == 0 ? 1 : 0;
  }
  return rounds;
}

// The most attempts at rounds in [first, end) of the job in which one of these devices was drawn.
int64_t MostTurns(const JobEntry& job, const std::vector<int64_t>& devices, int64_t first,
                  int64_t end) {
  std::map<int64_t, int64_t> turns;
  int64_t most = 0;
  for (const SealRecord& seal : job.seals) {
    if (int64_t{seal.round} < first || int64_t{seal.round} >= end) continue;
    for (const int64_t device : seal.devices) {
      if (!std::binary_search(devices.begin(), devices.end(), device)) continue;
      most = std::max(most, ++turns[device]);
    }
  }
  return most + UnrecordedRounds(job, first, end);
}

// A device's limit of a job of passes, in the place of the turns that a lost part may hide.
void ChargeLimit(privacy::SpentRounds* phase) {
  phase->rounds = std::max(phase->rounds, phase->plan.LimitRounds());
  phase->turns = phase->plan.participations;
  phase->updates = std::max(phase->updates, phase->plan.participations);
}

// Whether the job has turns of these devices. One that settled may be of none of its attempts.
bool Concerns(const JobEntry& job, const std::vector<int64_t>& devices) {
  return Share(job.devices, devices) ||
         std::any_of(job.settled.begin(), job.settled.end(), [&](const SettledEntry& entry) {
           return std::binary_search(devices.begin(), devices.end(), entry.device);
         });
}

// By the jobs before `job`; null: by all.
//   devices  ascending
std::vector<privacy::SpentRounds> SpentOn(const History& history, const JobEntry* job,
                                          const std::vector<int64_t>& devices) {
  std::vector<privacy::SpentRounds> spent;
  for (const JobEntry& other : history.jobs) {
    if (job != nullptr && other.number >= job->number) break;
    if (!Concerns(other, devices)) continue;
    std::vector<privacy::SpentRounds> phases = SpentBy(history, other);
    for (privacy::SpentRounds& phase : phases) {
      const bool is_last = &phase == &phases.back();
      const int64_t first = phase.plan.schedule.first_round;
      const int64_t end = is_last ? std::numeric_limits<int64_t>::max() : first + phase.rounds;
      phase.turns = MostTurns(other, devices, first, end);
      const bool is_passes = phase.plan.sampling == privacy::Sampling::kPasses;
      if (is_passes && LostSome(history, other)) ChargeLimit(&phase);
      spent.push_back(phase);
    }
    if (const auto lost = LostBeside(history, other, devices, false)) spent.push_back(*lost);
  }
  if (job == nullptr) return spent;
  if (const auto lost = LostBeside(history, *job, devices, true)) spent.push_back(*lost);
  return spent;
}

// How many turns like the next one a device may have, within the limits of the job and the store.
int64_t TurnsLeft(const TurnBook& book, int64_t device, const privacy::Turns& next) {
  int64_t few = 0;
  int64_t many = std::max<int64_t>(book.limit().count - book.UsedBy(device).count, 0) + 1;
  while (many - few > 1) {
    const int64_t middle = few + (many - few) / 2;
    const auto count = static_cast<double>(middle);
    const privacy::Turns turns = {middle, count * next.mu_squared, count * next.coordinates,
                                  count * next.too_long};
    (book.HasRoom(device, turns) ? few : many) = middle;
  }
  return few;
}

// Each device of this job of passes as if it had had all its turns in it, and all its rounds as if
// they were sealed. The turns that a device has left are in the costliest of the rounds that are.
void TakeAllTurns(const privacy::Plan& plan, int64_t rounds, JobEntry* job) {
  std::map<int64_t, int64_t> left;
  for (const int64_t device : job->devices) left[device] = plan.participations;
  for (const SealRecord& seal : job->seals) {
    for (const int64_t device : seal.devices) --left[device];
  }
  std::vector<std::pair<double, int64_t>> costs;  // noise to bound, and the round
  for (int64_t round = job->released; round < rounds; ++round) {
    costs.emplace_back(plan.schedule.TermsOf(round).noise_per_clip(), round);
  }
  std::sort(costs.begin(), costs.end());
  const auto rest = static_cast<int64_t>(costs.size());
  for (int64_t turn = 0; turn < std::max(plan.participations, rest); ++turn) {
    SealRecord seal;  // of an attempt more, where failed ones can leave more turns than rounds
    seal.round = static_cast<uint32_t>(costs[static_cast<size_t>(turn % rest)].second);
    for (const int64_t device : job->devices) {
      if (turn >= plan.participations) break;
      if (turn < left[device]) seal.devices.push_back(device);
    }
    job->seals.push_back(seal);
  }
}

}  // namespace

int64_t AttemptsOf(const History& history) {
  int64_t attempts = 0;
  for (const JobEntry& job : history.jobs) attempts += job.attempts;
  return attempts;
}

const JobEntry* LastJob(const History& history) {
  return history.jobs.empty() ? nullptr : &history.jobs.back();
}

privacy::Plan PlanOf(const History& history, const JobEntry& job) {
  return PlanFromConfiguration(history.store, job.configuration);
}

JobExtension PlanNow(const std::string& store, const JobEntry& job) {
  if (!job.extensions.empty()) return job.extensions.back();
  return {PlanFromConfiguration(store, job.configuration).rounds,
          BudgetFromConfiguration(store, job.configuration)};
}

JobPhases PhasesOf(const std::string& store, const JobEntry& job) {
  const privacy::Plan plan = PlanFromConfiguration(store, job.configuration);
  JobPhases phases;
  for (const FleetEntry& fleet : job.fleets) {
    phases.SetFleet(plan, fleet.devices, fleet.round, fleet.attempts_before);
  }
  int64_t rounds = plan.rounds;
  for (const JobExtension& extension : job.extensions) {
    if (extension.rounds > rounds) phases.ExtendFrom(rounds);
    rounds = extension.rounds;
  }
  return phases;
}

std::vector<privacy::SpentRounds> SpentBy(const History& history, const JobEntry& job) {
  privacy::Plan plan = PlanOf(history, job);
  plan.rounds = PlanNow(history.store, job).rounds;
  // A sealed attempt is charged, also if the process ended before its release.
  const auto sealed = static_cast<int64_t>(job.seals.size());
  return PhasesOf(history.store, job).Split(plan, std::max(job.released, sealed), job.attempts);
}

JobTurns TurnsOf(const History& history, const JobEntry& job) {
  privacy::Plan plan = PlanOf(history, job);
  if (plan.sampling != privacy::Sampling::kPasses) return {};
  plan.rounds = PlanNow(history.store, job).rounds;
  TurnBook book(PhasesOf(history.store, job).Limited(plan),
                TurnsBefore(history, &job, plan.colluders), LifeLimitOf(history, plan.certificate));
  for (const SealRecord& seal : job.seals) book.Seal(seal);
  const std::optional<SettledDevices> settled = SettledIn(history, job);
  if (settled) book.SetSettled(&*settled);
  const privacy::Turns next = book.TurnIn(job.released);
  JobTurns all = {plan.participations, plan.cohort, {}};
  for (const DeviceRecord& device : history.devices) {
    if (!std::binary_search(job.devices.begin(), job.devices.end(), device.number)) continue;
    DeviceTurns turns;
    turns.id = device.id;
    turns.used = book.UsedBy(device.number).count;
    turns.last_round = book.LastRoundOf(device.number);
    turns.is_revoked = device.revoked.has_value();
    turns.must_settle = !turns.is_revoked && !book.HasSettled(device.number);
    turns.left = turns.is_revoked ? 0 : TurnsLeft(book, device.number, next);
    if (turns.must_settle) turns.left_if_shown = std::exchange(turns.left, 0);
    all.devices.push_back(std::move(turns));
  }
  return all;
}

std::optional<HaltEntry> HaltOf(const History& history, const JobEntry& job) {
  if (!job.halt || job.halt->attempts != job.attempts) return std::nullopt;
  return job.halt->rounds == PlanNow(history.store, job).rounds ? job.halt : std::nullopt;
}

std::optional<HaltEntry> EndOf(const History& history, const JobEntry& job) {
  const std::optional<HaltEntry> halt = HaltOf(history, job);
  if (halt && IsEnd(halt->kind)) return halt;
  const bool has_all = job.released >= PlanNow(history.store, job).rounds;
  const bool is_last = job.number == LastJob(history)->number;
  if (!has_all && is_last && history.recovery && !MayRunOnRecovered(PlanOf(history, job))) {
    HaltEntry end;  // whether or not a server has written one
    end.kind = Halt::kOperator;
    end.reason =
        "`sotto store recover` ended it: the store was an older copy, and whom this job asks must "
        "not depend on who has shown a receipt; begin another one with `sotto job start`";
    return end;
  }
  if (!has_all && is_last) return std::nullopt;
  HaltEntry end;  // of a process that was killed before it wrote one
  end.kind = has_all ? Halt::kAllRounds : Halt::kReplaced;
  end.reason = KindOf(end.kind).words;
  return end;
}

History AfterTheJobThatRuns(History history, bool after) {
  if (history.jobs.empty()) return history;
  JobEntry& last = history.jobs.back();
  if ((last.released == 0 && !after) || EndOf(history, last)) return history;
  const privacy::Plan plan = PlanOf(history, last);
  const int64_t rounds = PlanNow(history.store, last).rounds;
  if (plan.sampling == privacy::Sampling::kPasses) {
    TakeAllTurns(plan, rounds, &last);
    return history;
  }
  last.attempts += rounds - last.released;
  last.released = rounds;
  return history;
}

privacy::Owners OwnersOf(const History& history) {
  privacy::Owners owners;
  std::map<int64_t, std::string> owner_of;
  std::map<std::string, int64_t> devices_of;
  std::map<std::string, int64_t> eligible_of;
  for (const DeviceRecord& device : history.devices) {
    const bool is_owned = !device.owner.empty();
    if (device.is_eligible() && !is_owned) owners.eligible_of.push_back(1);
    if (device.is_eligible() && is_owned) ++eligible_of[device.owner];
    if (!is_owned) continue;
    owner_of[device.number] = device.owner;
    owners.most_devices = std::max(owners.most_devices, ++devices_of[device.owner]);
  }
  for (const auto& [owner, count] : eligible_of) owners.eligible_of.push_back(count);
  if (owners.most_devices < 2) return owners;
  for (const JobEntry& job : history.jobs) {
    const bool is_passes = PlanOf(history, job).sampling == privacy::Sampling::kPasses;
    if (!is_passes && job.released > 0) owners.may_have_shared = true;
    for (const SealRecord& seal : job.seals) {
      std::set<std::string> asked;
      for (const int64_t device : seal.devices) {
        const auto owner = owner_of.find(device);
        if (owner == owner_of.end()) continue;
        if (!asked.insert(owner->second).second) owners.may_have_shared = true;
      }
    }
  }
  return owners;
}

std::optional<SettledDevices> SettledIn(const History& history, const JobEntry& job) {
  if (!history.recovery) return std::nullopt;
  SettledDevices settled;
  for (const JobEntry& other : history.jobs) {
    for (const SettledEntry& entry : other.settled) {
      if (entry.recovery == history.recovery->number) settled.devices.insert(entry.device);
      if (other.number != job.number) continue;
      privacy::Turns& charged = settled.charged[entry.device];
      charged = charged + entry.charged;
    }
  }
  return settled;
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
  return SpentOn(history, job, devices);
}

std::vector<privacy::SpentRounds> SpentByJobsBefore(const History& history, const JobEntry& job) {
  return SpentOn(history, &job, job.devices);
}

std::vector<privacy::SpentRounds> SpentAtBeginning(const History& history, const JobEntry& job) {
  return SpentOn(history, &job, job.first_devices);
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
  const JobExtension now = PlanNow(history.store, *last);
  RequireSameConfiguration(history.store, last->configuration, ConfigurationToJson(record),
                           {now.rounds, now.epsilon_budget});
  if (!std::equal(record.job_id.begin(), record.job_id.end(), std::begin(last->job_id),
                  std::end(last->job_id))) {
    throw std::runtime_error(history.store +
                             ": it holds a job that is under way; resume that job, or begin "
                             "another job after it");
  }
  return last;
}

bool GoesOnWithLastJob(const History& history, const JobRecord& record, bool or_is_over) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr) return false;
  const JobExtension now = PlanNow(history.store, *last);
  const privacy::Plan& plan = record.config.plan;
  const bool is_over = last->released >= now.rounds;
  if ((is_over && !or_is_over) || plan.rounds != now.rounds ||
      record.config.epsilon_budget != now.epsilon_budget) {
    return false;
  }
  try {
    RequireSameConfiguration(history.store, last->configuration, ConfigurationToJson(record),
                             {now.rounds, now.epsilon_budget});
  } catch (const std::runtime_error&) {
    return false;
  }
  return true;
}

JobState StateOf(const std::string& store, const JobEntry& job, const StoredModel& model) {
  JobState state;
  state.phases = PhasesOf(store, job);
  state.planned = static_cast<uint32_t>(PlanNow(store, job).rounds);
  std::copy(std::begin(job.job_id), std::end(job.job_id), state.job_id);
  const privacy::Plan plan = PlanFromConfiguration(store, job.configuration);
  if (plan.sampling == privacy::Sampling::kPasses) state.seals = job.seals;
  state.next_round = static_cast<uint32_t>(job.released);
  state.next_attempt = static_cast<uint32_t>(job.next_attempt);
  state.attempts = static_cast<uint32_t>(job.attempts);
  state.parameters = model.parameters;
  state.optimiser_state = model.optimiser_state;
  state.clip_l2 = model.next_clip_l2;
  return state;
}

std::optional<JobState> ReadState(Store& store, const JobEntry* job) {
  if (job == nullptr) return std::nullopt;
  static_assert(kFirstModel == -1, "is the model before round 0");
  return StateOf(store.name(), *job, store.ReadModel(job->number, job->released - 1));
}

}  // namespace sotto::server
