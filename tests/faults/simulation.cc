#include "faults/simulation.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "accounting/types.h"
#include "backends/sql_store.h"
#include "faults/database.h"
#include "faults/device.h"
#include "faults/server.h"
#include "faults/witness.h"
#include "faults/world.h"
#include "store/life.h"

namespace sotto::server {
namespace {

// After the last fault. A round that nobody reports in takes 15 seconds.
constexpr uint64_t kMostMs = 900'000;

class Simulation {
 public:
  Simulation(uint64_t seed, Broken broken, bool traces);
  Simulated Run();

 private:
  void Every(uint64_t mean_ms, std::function<void()> fault);
  void BeginFaults();
  void Calm();
  void GoOn();
  void Promote();
  template <typename Act>
  void Operate(Act act);
  void Recover();
  void GiveLife();
  bool IsOver() const;
  void End();
  SimulatedServer& AnyServer() { return *servers_[world_.Below(2)]; }

  World world_;
  const Scenario scenario_;
  const JobConfig config_;
  Witness witness_;
  Postgres postgres_;
  SimulatedDevice::Servers servers_;
  std::vector<std::unique_ptr<SimulatedDevice>> devices_;
  bool was_found_ = false;
  bool is_recovered_ = false;
};

Simulation::Simulation(uint64_t seed, Broken broken, bool traces)
    : world_(seed, traces),
      scenario_(DrawScenario(world_)),
      config_(ConfigOf(scenario_)),
      witness_(world_, scenario_),
      postgres_(world_, scenario_, NewStore(),
                [this](const Process* by, Database& tables) { witness_.OnCommit(by, tables); }) {
  GiveLife();
  for (const char* name : {"server A", "server B"}) {
    servers_.push_back(
        std::make_unique<SimulatedServer>(postgres_, witness_, config_, broken, name));
  }
  const std::vector<Device> fleet = FleetOfStore();
  for (uint32_t i = 0; i < kFleet; ++i) {
    devices_.push_back(std::make_unique<SimulatedDevice>(world_, scenario_, witness_, servers_,
                                                         *config_.model, i, fleet[i]));
  }
}

void Simulation::GiveLife() {
  if (scenario_.life_turns == 0) return;
  privacy::Turns turns;
  for (int64_t i = 0; i < scenario_.life_turns; ++i) {
    turns = turns + privacy::TurnIn(config_.plan, 0);
  }
  const double delta = config_.plan.delta;
  static std::map<std::pair<int64_t, bool>, double>
      found;  // a search that takes longer than most simulations
  double& epsilon = found[{scenario_.life_turns, scenario_.has_private_noise}];
  if (epsilon == 0) epsilon = LifeEpsilonFor(turns, delta, config_.plan.certificate);
  Operate([&](SqlStore& store) { store.RaiseLifeEpsilon(epsilon, delta); });
  postgres_.Synchronize();  // a limit that was lost holds no more
}

// At random times, so often in the mean; 0: never.
void Simulation::Every(uint64_t mean_ms, std::function<void()> fault) {
  if (mean_ms == 0) return;
  world_.After(world_.Between(1, 2 * mean_ms), nullptr, [this, mean_ms, fault] {
    if (world_.is_calm()) return;
    fault();
    Every(mean_ms, fault);
  });
}

void Simulation::BeginFaults() {
  Every(scenario_.kill_ms, [this] { AnyServer().Kill("is killed"); });
  Every(scenario_.stop_ms, [this] { AnyServer().Stop(world_.Between(500, 20'000)); });
  Every(scenario_.restart_ms, [this] {
    world_.Tell("database: restarts");
    postgres_.Restart(world_.Between(500, 5000));
  });
  Every(scenario_.cut_ms, [this] {
    Process& process = AnyServer().process();
    world_.Tell("{}: is cut off from the database", process.name);
    process.is_cut = true;
    world_.After(world_.Between(500, 20'000), nullptr, [this, &process] {
      world_.Tell("{}: reaches the database again", process.name);
      process.is_cut = false;
    });
  });
  Every(scenario_.partition_ms, [this] {
    // One after the other: compilers differ in the order of arguments.
    SimulatedDevice& device = *devices_[world_.Below(kFleet)];
    const uint64_t ms = world_.Between(1000, 30'000);
    device.CutFrom(world_.Below(2), ms);
  });
  Every(scenario_.write_ms, [this] {
    Operate([this](SqlStore& store) {
      store.SetKit("d1", fmt::format("written after {} ms", world_.now_ms()));
    });
  });
  Every(scenario_.pause_ms, [this] {
    Operate([](SqlStore& store) { store.SetPaused(true); });
    world_.After(world_.Between(1000, 20'000), nullptr, [this] { GoOn(); });
  });
  Every(scenario_.look_ms,
        [this] { Operate([this](SqlStore& store) { witness_.OnLook(store); }); });
  if (scenario_.has_promotion) {
    world_.After(world_.Between(5000, 60'000), nullptr, [this] { Promote(); });
  }
  world_.After(scenario_.faults_ms, nullptr, [this] { Calm(); });
}

// As another program, whose connection nothing disturbs; nothing happens if the database is away.
template <typename Act>
void Simulation::Operate(Act act) {
  if (!postgres_.is_up()) return;
  SqlStore store(std::make_unique<SimulatedPlace>(postgres_, nullptr, Broken::kNone));
  act(store);
}

void Simulation::GoOn() {
  if (!postgres_.is_up()) {
    world_.After(1000, nullptr, [this] { GoOn(); });
    return;
  }
  Operate([](SqlStore& store) { store.SetPaused(false); });
}

void Simulation::Calm() {
  world_.Tell("no fault from here on");
  world_.Calm();
  for (const auto& server : servers_) server->process().is_cut = false;
  GoOn();
}

// Of a standby for which commits did not wait.
void Simulation::Promote() {
  if (IsOver() || !postgres_.Promote(scenario_.lost_commits, world_.Between(500, 3000))) return;
  world_.Tell("database: a standby that lacks {} commits is promoted", scenario_.lost_commits);
  LocalDatabase tables;
  tables.Load(*postgres_.head());
  witness_.OnPromotion(tables);
}

// Somebody ends the servers, says that this copy is all there is, and starts them.
void Simulation::Recover() {
  world_.Tell("the operator recovers the copy");
  is_recovered_ = true;
  for (const auto& server : servers_) server->Shut();
  witness_.OnRecovery();
  Operate([](SqlStore& store) { store.Recover(); });
  for (const auto& server : servers_) server->Start();
}

bool Simulation::IsOver() const {
  for (const auto& server : servers_) {
    if (server->is_over()) return true;
  }
  // A device that never got a receipt cannot show one: the job then waits until it is revoked.
  const bool waits_for_receipts = is_recovered_ && world_.now_ms() > scenario_.faults_ms + 300'000;
  if (waits_for_receipts && (servers_[0]->waits() || servers_[1]->waits())) return true;
  return was_found_ && !is_recovered_ && !scenario_.recovers;
}

Simulated Simulation::Run() {
  BeginFaults();
  for (const auto& server : servers_) server->Start();
  for (const auto& device : devices_) device->Start();
  while (world_.violation().empty() && !IsOver() &&
         world_.now_ms() < scenario_.faults_ms + kMostMs) {
    world_.RunUntil(world_.now_ms() + 1000);
    const bool finds = servers_[0]->is_stale() || servers_[1]->is_stale();
    was_found_ = was_found_ || finds;
    if (finds && scenario_.recovers && postgres_.is_up()) Recover();
  }
  if (world_.violation().empty() && !IsOver()) {
    world_.Violate("no fault has happened for {} s, and the job is not over", kMostMs / 1000);
  }
  End();
  return {Describe(scenario_), world_.violation(),      world_.now_ms(), witness_.commits(),
          witness_.releases(), witness_.was_promoted(), was_found_,      witness_.unseen(),
          witness_.tasks(),    witness_.vain(),         world_.trace()};
}

void Simulation::End() {
  if (!world_.violation().empty()) return;
  Calm();
  for (const auto& server : servers_) server->Shut();
  world_.RunUntil(world_.now_ms() + 10'000);  // until the database is up
  Operate([this](SqlStore& store) { witness_.OnLook(store); });
}

}  // namespace

Simulated Simulate(uint64_t seed, Broken broken, bool traces) {
  return Simulation(seed, broken, traces).Run();
}

}  // namespace sotto::server
