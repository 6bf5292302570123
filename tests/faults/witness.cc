#include "faults/witness.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>

#include "round/receipts.h"
#include "store/history.h"

namespace sotto::server {
namespace {

size_t HashOf(const void* bytes, size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
}

Witness::JobId IdIn(ByteSpan bytes) {
  Witness::JobId id = {};
  std::copy_n(bytes.data(), std::min(bytes.size(), id.size()), id.begin());
  return id;
}

std::string NameOf(const std::tuple<int64_t, int64_t, int64_t>& attempt) {
  return fmt::format("job {} round {} attempt {}", std::get<0>(attempt), std::get<1>(attempt),
                     std::get<2>(attempt));
}

// receipts.h.
int64_t TurnsIn(ByteSpan receipt) { return receipt[33] | receipt[34] << 8; }

}  // namespace

Witness::JobId Witness::IdOf(const uint8_t (&bytes)[kJobIdSize]) {
  return IdIn({bytes, kJobIdSize});
}

void Witness::OnCommit(const Process* by, Database& tables) {
  ++commits_;
  ReadEpoch(by, tables);
  ReadJobs(tables);
  ReadAttempts(by, tables);
  ReadTurns(by, tables);
  ReadReleases(by, tables);
}

// The epoch moves by who claims the store, a server or an operator who recovers it, and only who
// did so last may write.
void Witness::ReadEpoch(const Process* by, Database& tables) {
  const int64_t epoch = tables.Integer("SELECT epoch FROM place");
  const bool is_claim = (by == nullptr || by->epoch == 0) && epoch == epoch_ + 1;
  if (is_claim) {
    world_.Tell("commit: {} serves in epoch {}", by == nullptr ? "the operator" : by->name, epoch);
  } else if (epoch != epoch_) {
    world_.Violate("the epoch went from {} to {}", epoch_, epoch);
  } else if (by != nullptr && by->epoch != epoch) {
    world_.Violate("{} commits in epoch {}, and was the server of epoch {}", by->name, epoch,
                   by->epoch);
  }
  epoch_ = epoch;
}

void Witness::ReadJobs(Database& tables) {
  Statement row(tables, "SELECT number, job_id FROM jobs");
  size_t count = 0;
  for (; row.Step(); ++count) {
    const int64_t number = row.Integer(0);
    const auto [at, is_new] = jobs_.emplace(IdIn(row.Blob(1)), number);
    if (at->second != number) world_.Violate("job {} has the id of job {}", number, at->second);
    if (!is_new) continue;
    world_.Tell("commit: job {} begins", number);
    Statement model(tables, "SELECT parameters FROM models WHERE job = ? AND round = -1");
    if (!model.Bind(number).Step()) {
      world_.Violate("job {} begins without a model", number);
      continue;
    }
    const ByteSpan bytes = model.Blob(0);
    models_[{at->first, kFirstModel}].insert(HashOf(bytes.data(), bytes.size()));
  }
  if (count != jobs_.size()) world_.Violate("{} jobs of {} are in the store", count, jobs_.size());
}

// Turns of each device in charged attempts, of one job or of all.
std::map<int64_t, int64_t> Witness::ChargedIn(std::optional<int64_t> job) const {
  std::map<int64_t, int64_t> turns;
  for (const auto& [name, attempt] : attempts_) {
    if (job && std::get<0>(name) != *job) continue;
    for (const int64_t device : attempt.charged) ++turns[device];
  }
  return turns;
}

// A number is used once, and is above all those before it.
void Witness::ReadAttempts(const Process* by, Database& tables) {
  Statement row(tables, "SELECT job, round, attempt FROM attempts ORDER BY job, round, attempt");
  size_t count = 0;
  for (; row.Step(); ++count) {
    const AttemptName name = {row.Integer(0), row.Integer(1), row.Integer(2)};
    if (attempts_.count(name) != 0) continue;
    if (by == nullptr) {
      world_.Violate("{} was opened by nobody", NameOf(name));
      continue;
    }
    const auto [job, round, number] = name;
    const bool is_next = releases_.count({job, round - 1}) == (round == 0 ? 0U : 1U) &&
                         releases_.count({job, round}) == 0;
    if (!is_next) world_.Violate("{} is opened, which is not the next round", NameOf(name));
    if (!attempts_.empty() && attempts_.rbegin()->first > name) {
      world_.Violate("{} is opened after {}", NameOf(name), NameOf(attempts_.rbegin()->first));
    }
    AttemptSeen attempt;
    attempt.life = by->life;
    attempt.charged_then = ChargedIn(std::nullopt);
    attempt.used_then = used_in_life_;
    attempts_.emplace(name, std::move(attempt));
    world_.Tell("commit: {} opens {}", by->name, NameOf(name));
  }
  if (count != attempts_.size()) {
    world_.Violate("{} attempts of {} are in the store", count, attempts_.size());
  }
}

// Only who opened an attempt charges it: one that was open when its server died is uncharged.
void Witness::ReadTurns(const Process* by, Database& tables) {
  std::map<AttemptName, std::set<int64_t>> charged;
  Statement row(tables, "SELECT job, round, attempt, device FROM turns");
  while (row.Step()) {
    charged[{row.Integer(0), row.Integer(1), row.Integer(2)}].insert(row.Integer(3));
  }
  for (auto& [name, attempt] : attempts_) {
    std::set<int64_t>& now = charged[name];
    if (now == attempt.charged) continue;
    if (!attempt.charged.empty()) world_.Violate("the turns of {} have changed", NameOf(name));
    if (by == nullptr || by->life != attempt.life) {
      world_.Violate("{} is charged by a server that did not open it", NameOf(name));
    }
    attempt.charged = std::move(now);
    world_.Tell("commit: {} is charged", NameOf(name));
    RequireTurns(name, attempt);
  }
}

void Witness::RequireTurns(const AttemptName& name, const AttemptSeen& attempt) {
  for (const int64_t device : attempt.asked) {
    if (attempt.charged.count(device) == 0) {
      world_.Violate("{} does not charge device {}, which was asked", NameOf(name), device);
    }
  }
  if (!scenario_.of_passes) return;
  for (const auto& [device, turns] : ChargedIn(std::get<0>(name))) {
    if (turns > scenario_.participations) {
      world_.Violate("device {} is charged {} turns in job {}", device, turns, std::get<0>(name));
    }
  }
  for (const auto& [device, turns] : ChargedIn(std::nullopt)) {
    if (scenario_.life_turns != 0 && turns > scenario_.life_turns) {
      world_.Violate("device {} is charged {} turns in its life", device, turns);
    }
  }
}

void Witness::ReadReleases(const Process* by, Database& tables) {
  Statement row(tables, "SELECT job, round, attempt FROM releases ORDER BY job, round");
  size_t count = 0;
  for (; row.Step(); ++count) {
    const AttemptName name = {row.Integer(0), row.Integer(1), row.Integer(2)};
    const auto known = releases_.find({std::get<0>(name), std::get<1>(name)});
    if (known == releases_.end()) {
      OnRelease(by, name, tables);
    } else if (known->second.attempt != std::get<2>(name)) {
      world_.Violate("{} was released as attempt {}", NameOf(name), known->second.attempt);
    }
  }
  if (count != releases_.size()) {
    world_.Violate("{} releases of {} are in the store", count, releases_.size());
  }
}

void Witness::OnRelease(const Process* by, const AttemptName& name, Database& tables) {
  const auto [job, round, number] = name;
  world_.Tell("commit: {} is released", NameOf(name));
  ++released_;
  const auto found = attempts_.find(name);
  if (found == attempts_.end() || by == nullptr || found->second.life != by->life) {
    world_.Violate("{} is released by a server that did not open it", NameOf(name));
    return;
  }
  AttemptSeen& attempt = found->second;
  attempt.is_released = true;
  if (attempt.charged.empty()) world_.Violate("{} is released and not charged", NameOf(name));
  Statement model(tables, "SELECT parameters FROM models WHERE job = ? AND round = ?");
  if (!model.Bind(job, round).Step()) {
    world_.Violate("{} is released without a model", NameOf(name));
    return;
  }
  const ByteSpan bytes = model.Blob(0);
  const size_t hash = HashOf(bytes.data(), bytes.size());
  releases_[{job, round}] = {number, hash, {}};
  JobId id = {};
  for (const auto& [each, its_number] : jobs_) {
    if (its_number == job) id = each;
  }
  models_[{id, round}].insert(hash);
  ReadClaims(job, round, tables);
  for (const int64_t device : attempt.asked) {
    const int64_t used = ++used_[{device, id}];
    const int64_t in_life = ++used_in_life_[device];
    if (!scenario_.of_passes) continue;
    if (used > scenario_.participations) {
      world_.Violate("device {} took part in {} rounds of job {}", device, used, job);
    }
    if (scenario_.life_turns != 0 && in_life > scenario_.life_turns) {
      world_.Violate("device {} took part in {} rounds in its life", device, in_life);
    }
  }
}

// Within a job no epsilon falls from one release to the next. In a recovered copy a device counts
// at its cap until it settles (store/recovery.h), and then at less.
void Witness::ReadClaims(int64_t job, int64_t round, Database& tables) {
  std::vector<double>& now = releases_[{job, round}].epsilons;
  Statement row(tables, "SELECT epsilon FROM claims WHERE job = ? AND round = ? ORDER BY position");
  row.Bind(job, round);
  while (row.Step()) now.push_back(row.RealOrInfinity(0));
  if (now.empty()) world_.Violate("round {} of job {} has no claims", round, job);
  const auto former = releases_.find({job, round - 1});
  if (former == releases_.end() || is_recovered_) return;
  const std::vector<double>& before = former->second.epsilons;
  for (size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
    if (now[i] < before[i] * (1 - 1e-12)) {
      world_.Violate("epsilon {} of job {} fell from {} to {} in round {}", i, job, before[i],
                     now[i], round);
    }
  }
}

void Witness::OnPromotion(Database& tables) {
  was_promoted_ = true;
  std::map<AttemptName, std::set<int64_t>> charged;
  std::set<AttemptName> held;
  {
    Statement row(tables, "SELECT job, round, attempt FROM attempts");
    while (row.Step()) held.insert({row.Integer(0), row.Integer(1), row.Integer(2)});
    Statement turn(tables, "SELECT job, round, attempt, device FROM turns");
    while (turn.Step()) {
      charged[{turn.Integer(0), turn.Integer(1), turn.Integer(2)}].insert(turn.Integer(3));
    }
  }
  std::set<int64_t> jobs;
  Statement job(tables, "SELECT number FROM jobs");
  while (job.Step()) jobs.insert(job.Integer(0));
  // What the devices' receipts cannot show: turns of attempts that the older state has as open
  // ones.
  for (auto& [name, attempt] : attempts_) {
    const bool is_held = held.count(name) != 0;
    if (!is_held || !attempt.is_released || !charged[name].empty()) continue;
    for (const auto& [id, number] : jobs_) {
      if (number != std::get<0>(name)) continue;
      for (const int64_t device : attempt.asked) {
        ++unseen_;
        --used_[{device, id}];
        --used_in_life_[device];
      }
    }
  }
  for (auto& [device, task] : last_task_) task.is_lost = held.count(task.attempt) == 0;
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    at->second.charged = charged[at->first];
    at = held.count(at->first) == 0 ? attempts_.erase(at) : std::next(at);
  }
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    at = jobs.count(at->second) == 0 ? jobs_.erase(at) : std::next(at);
  }
  std::set<std::pair<int64_t, int64_t>> released;
  Statement release(tables, "SELECT job, round FROM releases");
  while (release.Step()) released.insert({release.Integer(0), release.Integer(1)});
  for (auto at = releases_.begin(); at != releases_.end();) {
    at = released.count(at->first) == 0 ? releases_.erase(at) : std::next(at);
  }
  epoch_ = tables.Integer("SELECT epoch FROM place");
}

void Witness::OnStaleLog(const Process& by) {
  world_.Tell("{}: a receipt shows that the store is an older copy", by.name);
  if (!was_promoted_) world_.Violate("{} takes its store for an older copy", by.name);
}

void Witness::OnStart(const Process& by, const History& history) {
  if (by.epoch != epoch_) return;  // another one has written since it read
  for (const JobEntry& job : history.jobs) {
    std::map<int64_t, int64_t> turns;
    for (const SealRecord& seal : job.seals) {
      for (const int64_t device : seal.devices) ++turns[device];
    }
    if (turns != ChargedIn(job.number)) {
      world_.Violate("{} begins with other turns than were charged in job {}", by.name, job.number);
    }
  }
}

void Witness::OnTask(const Process& by, int life, int64_t device, const Reply& train) {
  ++tasks_;
  if (life == by.life && by.epoch != epoch_) ++vain_;
  const JobId id = IdOf(train.task.job_id);
  const int64_t round = train.task.round;
  const int64_t number = train.task.attempt;
  const auto [opened, is_first] = opened_by_.emplace(std::tuple{id, round, number}, life);
  if (opened->second != life && !was_promoted_) {
    world_.Violate("device {} got round {} attempt {} from {}, which did not open it", device,
                   round, number, by.name);
  }
  const auto job = jobs_.find(id);
  const AttemptName name = {job == jobs_.end() ? 0 : job->second, round, number};
  const auto attempt = attempts_.find(name);
  const bool is_held = attempt != attempts_.end() && attempt->second.life == life;
  if (!is_held && !was_promoted_) {
    world_.Violate("device {} got round {} attempt {} of {}, which the store does not hold", device,
                   round, number, by.name);
  }
  LastTask& last = last_task_[device];
  const bool has_receipt = train.receipt.size() == kReceiptSize;
  world_.Tell("d{}: is asked by {} in {}, its receipt names {} turns", device, by.name,
              NameOf(name), has_receipt ? TurnsIn(train.receipt) : 0);
  if (is_held && last.is_lost && !is_recovered_) {
    world_.Violate("device {} was asked again, though its receipt shows {}, which the store lost",
                   device, NameOf(last.attempt));
  }
  if (is_held) {
    attempt->second.asked.insert(device);
    const std::set<int64_t>& charged = attempt->second.charged;
    if (!charged.empty() && charged.count(device) == 0) {
      world_.Violate("device {} was asked in {}, which charges others", device, NameOf(name));
    }
    CheckReceipt(attempt->second, device, train.receipt);
    last.is_lost = false;
  }
  last.attempt = name;
  last.job = id;
}

// The turns that it names are the device's own, and never fall.
void Witness::CheckReceipt(const AttemptSeen& attempt, int64_t device, ByteSpan receipt) {
  if (receipt.size() != kReceiptSize) {
    world_.Violate("device {} got a task without a receipt", device);
    return;
  }
  const int64_t turns = TurnsIn(receipt);
  const auto charged = attempt.charged_then.find(device);
  const int64_t before = charged == attempt.charged_then.end() ? 0 : charged->second;
  if (turns != before + 1 && !is_recovered_) {
    world_.Violate("the receipt of device {} names {} turns, and it was charged {} before", device,
                   turns, before);
  }
  const auto used = attempt.used_then.find(device);
  if (used != attempt.used_then.end() && turns <= used->second) {
    world_.Violate("the receipt of device {} names {} turns, and it took part in {} rounds before",
                   device, turns, used->second);
  }
  int64_t& last = last_task_[device].turns;
  if (turns < last && !was_promoted_) {
    world_.Violate("the turns of device {} fell from {} to {}", device, last, turns);
  }
  last = turns;
}

// A model that somebody has is in the ledger, with the same bytes.
void Witness::OnModel(const std::string& who, const JobId& job, int64_t round,
                      Span<const float> model) {
  const size_t hash = HashOf(model.data(), model.size() * sizeof(float));
  const auto found = models_.find({job, round});
  if (found == models_.end() || found->second.count(hash) == 0) {
    world_.Violate("{} has a model of round {} that is not in the ledger", who, round);
  }
  seen_.insert({job, round});
}

void Witness::OnLook(Store& store) {
  const History history = store.ReadHistory();
  std::map<int64_t, int64_t> released;
  for (const LedgerEntry& entry : store.Ledger()) {
    ++released[entry.job];
    if (releases_.count({entry.job, entry.round}) == 0) {
      world_.Violate("round {} of job {} in the ledger was never committed", entry.round,
                     entry.job);
    }
  }
  size_t total = 0;
  for (const auto& [job, count] : released) total += static_cast<size_t>(count);
  if (total != releases_.size()) {
    world_.Violate("the ledger has {} releases, and {} were committed", total, releases_.size());
  }
  for (const auto& [id, round] : seen_) {
    const auto job = jobs_.find(id);
    const bool is_there =
        job != jobs_.end() && (round == kFirstModel || releases_.count({job->second, round}) != 0);
    if (!is_there && !was_promoted_) {
      world_.Violate("round {} was seen and is not in the ledger", round);
    }
  }
  for (const JobEntry& job : history.jobs) {
    for (const int64_t round : store.ListModels(job.number)) {
      const std::vector<float> model = store.ReadModel(job.number, round).parameters;
      OnModel("the store", IdOf(job.job_id), round, {model.data(), model.size()});
    }
  }
}

}  // namespace sotto::server
