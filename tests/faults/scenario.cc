#include "faults/scenario.h"

#include <fmt/format.h>

#include "faults/world.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Each kind of fault is in some of the scenarios only: few kinds at a time reach further.
CallFaults DrawFaults(World& world, double most) {
  const auto draw = [&] { return world.Happens(0.3) ? most * 0.1 * world.Below(11) : 0.0; };
  CallFaults faults;
  faults.lost = draw();
  faults.killed = draw();
  faults.slow = draw();
  faults.frozen = draw();
  return faults;
}

uint64_t DrawPeriod(World& world) { return world.Happens(0.35) ? world.Between(5000, 60'000) : 0; }

void DrawJob(World& world, Scenario* scenario) {
  scenario->of_passes = world.Happens(0.85);
  scenario->participations = static_cast<int64_t>(world.Between(1, 3));
  scenario->rounds = static_cast<int64_t>(world.Between(3, 6));
  scenario->jobs = world.Happens(0.2) ? 2 : 1;
  scenario->kept_models = world.Below(3);
  scenario->round_ms = world.Between(3000, 15'000);
  if (!scenario->of_passes) return;
  scenario->has_private_noise = world.Happens(0.2);
  scenario->closes_early = world.Happens(0.5);
  scenario->quorum = world.Below(3);
  if (world.Happens(0.4)) {
    const auto least = static_cast<uint64_t>(scenario->participations);  // or no job begins
    const auto most = static_cast<uint64_t>(scenario->participations * scenario->jobs);
    scenario->life_turns = static_cast<int64_t>(world.Between(least, most));
  }
}

}  // namespace

Scenario DrawScenario(World& world) {
  Scenario scenario;
  DrawJob(world, &scenario);
  scenario.statement = DrawFaults(world, 0.001);
  scenario.begin = DrawFaults(world, 0.02);
  scenario.commit = DrawFaults(world, 0.05);
  scenario.answer = DrawFaults(world, 0.05);
  scenario.restart_ms = DrawPeriod(world);
  scenario.cut_ms = DrawPeriod(world);
  scenario.has_promotion = world.Happens(0.15);
  scenario.lost_commits = static_cast<uint32_t>(world.Between(1, 12));
  scenario.recovers = world.Happens(0.5);
  if (world.Happens(0.3)) scenario.write_ms = world.Between(500, 10'000);
  scenario.pause_ms = world.Happens(0.2) ? DrawPeriod(world) : 0;
  scenario.look_ms = world.Happens(0.2) ? DrawPeriod(world) : 0;
  scenario.kill_ms = DrawPeriod(world);
  scenario.stop_ms = DrawPeriod(world);
  if (world.Happens(0.4)) scenario.message_lost = 0.01 * world.Below(10);
  if (world.Happens(0.3)) scenario.message_twice = 0.01 * world.Below(20);
  if (world.Happens(0.4)) scenario.message_late = 0.01 * world.Below(20);
  scenario.partition_ms = DrawPeriod(world);
  if (world.Happens(0.4)) scenario.drop_out = 0.1 * world.Below(5);
  if (world.Happens(0.3)) scenario.reset = 0.005 * world.Below(10);
  return scenario;
}

std::string Describe(const Scenario& s) {
  return fmt::format(
      "{}{}{}, {} participations, {} rounds of {} ms, {} job(s), life {} turns, quorum {}, keeps "
      "{} "
      "models; restarts {} ms, cuts {} ms, kills {} ms, stops {} ms, partitions {} ms, writes {} "
      "ms, "
      "pauses {} ms, looks {} ms; {}",
      s.of_passes ? "passes" : "uniform", s.has_private_noise ? ", private noise" : "",
      s.closes_early ? ", closes early" : "", s.participations, s.rounds, s.round_ms, s.jobs,
      s.life_turns, s.quorum, s.kept_models, s.restart_ms, s.cut_ms, s.kill_ms, s.stop_ms,
      s.partition_ms, s.write_ms, s.pause_ms, s.look_ms,
      s.has_promotion ? fmt::format("a promotion that lacks {} commits{}", s.lost_commits,
                                    s.recovers ? ", recovered" : "")
                      : "no promotion");
}

JobConfig ConfigOf(const Scenario& scenario) {
  JobConfig config = scenario.of_passes
                         ? SmallPassesConfig(scenario.participations, scenario.rounds)
                         : SmallConfig();
  config.plan.rounds = scenario.rounds;
  if (scenario.has_private_noise) config.plan.private_noise_multiplier = 0.5;
  if (scenario.closes_early) config = ClosingEarly(config);
  if (scenario.of_passes) config.quorum = scenario.quorum;
  config.process.hears_all = true;  // which would ask the machine's clock
  config.process.poll_interval_ms = 500;
  config.training.local_epochs = 1;
  return config;
}

}  // namespace sotto::server
