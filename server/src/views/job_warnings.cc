#include "views/job_warnings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "accounting/figures.h"
#include "base/counted.h"

namespace sotto::server {
namespace {

void Add(std::string line, bool* told, std::vector<std::string>* lines) {
  if (line.empty() || *told) return;
  *told = true;
  lines->push_back("WARNING: " + line);
}

}  // namespace

int64_t ReleasesWithTurns(const JobTurns& turns, int64_t most) {
  int64_t releases = 0;
  while (releases < most) {
    const int64_t next = releases + 1;
    int64_t places = 0;
    for (const DeviceTurns& device : turns.devices) {
      if (!device.is_revoked && !device.must_settle) places += std::min(device.left, next);
    }
    if (places < next * turns.cohort) break;
    releases = next;
  }
  return releases;
}

std::string JobWarnings::OfTurns(int64_t planned, const JobTurns& turns) {
  const int64_t left = ReleasesWithTurns(turns, kFewRounds + 1);
  if (left > kFewRounds || left >= planned) return "";
  return fmt::format(
      "the budget is nearly spent: devices have turns for {}, and {} of the plan are left. Then "
      "the job ends. New devices bring turns along, `sotto keys new`",
      Counted(left, "more round"), Counted(planned, "round"));
}

// Epsilon grows ever more slowly, so the next releases add at most what the last one added. Only
// where that does not say that many are left is the accountant asked, which takes milliseconds.
std::string JobWarnings::OfEpsilon(const RoundOutcome& outcome, int64_t planned,
                                   const Budget& budget) {
  const double epsilon = outcome.spent.epsilon();
  const double before = std::exchange(last_epsilon_, epsilon);
  if (planned <= 0 || told_budget_ || !std::isfinite(job_.epsilon_budget)) return "";
  const double adds = epsilon - before;
  if (before >= 0 && adds > 0 && (job_.epsilon_budget - epsilon) / adds > kFewRounds + 1) return "";
  const int64_t left = budget.MorePaid(outcome.round + 1, std::min(planned, kFewRounds + 1));
  if (left > kFewRounds || left >= planned) return "";
  return fmt::format(
      "the budget is nearly spent: epsilon {} of {} pays for {}, and {} of the plan are "
      "left. Then the job ends. A larger --epsilon-budget is a new promise to the devices",
      privacy::EpsilonText(epsilon), job_.epsilon_budget, Counted(left, "more round"),
      Counted(planned, "round"));
}

std::string JobWarnings::OfClipping(double unclipped) {
  constexpr double kNearly = 0.05;
  const double target = job_.clip_schedule->quantile;
  const double few = std::min(kNearly, target / 2);
  const double many = std::max(1 - kNearly, (1 + target) / 2);
  clipped_nearly_all_ = unclipped < few ? clipped_nearly_all_ + 1 : 0;
  clipped_nearly_none_ = unclipped > many ? clipped_nearly_none_ + 1 : 0;
  if (std::max(clipped_nearly_all_, clipped_nearly_none_) < kReleases) return "";
  const bool is_all = clipped_nearly_all_ >= kReleases;
  return fmt::format(
      "the clipping bound clips {}, in {} one after the other: by their noisy shares {} of the "
      "cohort stay unclipped, and --clip-quantile wants {:g}. The bound follows at "
      "--clip-learning-rate {:g}; a job that begins with a {} --clip is there at once",
      is_all ? "nearly all updates" : "nearly nothing, and the noise follows the bound",
      Counted(kReleases, "release"), is_all ? "nearly none" : "nearly all", target,
      job_.clip_schedule->learning_rate, is_all ? "larger" : "smaller");
}

std::vector<std::string> JobWarnings::OnOutcome(const RoundOutcome& outcome, const JobTurns& turns,
                                                const Budget& budget) {
  std::vector<std::string> lines;
  const int64_t done = int64_t{outcome.round} + (outcome.released ? 1 : 0);
  const int64_t planned = job_.plan.rounds - done;
  if (turns.participations > 0 && !turns.devices.empty()) {
    Add(OfTurns(planned, turns), &told_budget_, &lines);
  } else if (outcome.released && job_.codec->accounted && !outcome.spent.claims.empty() &&
             job_.plan.sampling != privacy::Sampling::kPasses) {
    Add(OfEpsilon(outcome, planned, budget), &told_budget_, &lines);
  }
  if (outcome.released && outcome.unclipped_fraction && job_.clip_schedule) {
    Add(OfClipping(*outcome.unclipped_fraction), &told_clip_, &lines);
  }
  return lines;
}

std::vector<std::string> JobWarnings::OnEvaluation(uint32_t round, const Evaluation& evaluation) {
  std::vector<std::string> lines;
  const bool is_first = least_loss_ < 0;
  const bool is_less = evaluation.loss < least_loss_;
  if (std::isfinite(evaluation.loss) && (is_first || is_less)) {
    least_loss_ = evaluation.loss;
    least_round_ = round;
    worse_ = 0;
    return lines;
  }
  worse_ = !is_first && !(evaluation.loss <= kMoreLoss * least_loss_) ? worse_ + 1 : 0;
  if (worse_ < kEvaluations) return lines;
  Add(fmt::format("the loss on the test data grows: {:.4g} after round {}, and {:.4g} now, after "
                  "round {}; {} were above {:g} times the least. The store has the better model, "
                  "`sotto model export --round {}`, unless --keep-models deleted it; a smaller "
                  "--server-learning-rate or a smaller --clip, in another job, moves it less",
                  least_loss_, least_round_ + 1, evaluation.loss, round + 1,
                  Counted(kEvaluations, "evaluation"), kMoreLoss, least_round_ + 1),
      &told_loss_, &lines);
  return lines;
}

}  // namespace sotto::server
