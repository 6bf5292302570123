// `sotto-lab audit epsilon` finds nothing wrong with the product, and finds builds whose noise is
// too small or whose bound is not enforced.
#include "audit/epsilon_audit.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "audit/audit_request.h"
#include "audit/guards.h"
#include "plans/statement.h"
#include "sotto/models.h"
#include "sotto/posix/run_key.h"
#include "unit/server/weak_codecs.h"

namespace sotto::server {
namespace {

// Enough to see half the noise. A sound build fails with a probability below 1e-8.
constexpr uint32_t kRepeats = 6000;
constexpr double kError = 1e-8;

EpsilonAudit Audit(const JobConfig& config, const EpsilonAuditRequest& request,
                   uint32_t repeats = kRepeats, int threads = 2) {
  EpsilonAuditOptions options;
  options.repeats = repeats;
  options.error = kError;
  options.threads = threads;
  return AuditEpsilon(config, CanaryView::kReleases, {request.noise_multiplier, request.epsilon},
                      options, posix::RunKey(1), [](double) {});
}

EpsilonAudit AuditOf(const EpsilonAuditRequest& request, const std::string& sampling,
                     const CodecInfo* codec = nullptr) {
  JobConfig config = MakeAuditedJob(request, SamplingsOf(sampling).front());
  if (codec != nullptr) config.codec = codec;
  return Audit(config, request);
}

bool Mentions(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(EpsilonAudit, FindsNothingWrongWithTheProduct) {
  for (const AuditedSampling& sampling : SamplingsOf("all")) {
    const EpsilonAudit audit = AuditOf(EpsilonAuditRequest(), sampling.name);
    EXPECT_EQ(audit.violations, std::vector<std::string>()) << sampling.name;
    EXPECT_EQ(audit.refused, 0u);
    EXPECT_GT(audit.drawn, kRepeats / 3);
    EXPECT_NEAR(audit.noise_multiplier, audit.plan.NoiseMultiplier(), 0.1) << sampling.name;
    EXPECT_NEAR(audit.shift, 1, 0.15) << sampling.name;
    EXPECT_GT(audit.tests[2].measured.epsilon_lower, 0) << "the canary is seen";
  }
}

// At the far corner one round of a uniform cohort tells what the claim says, as a Poisson round
// does.
TEST(EpsilonAudit, SaysHowNearToTheClaimItCanCome) {
  for (const AuditedSampling& sampling : SamplingsOf("all")) {
    const EpsilonAudit audit = AuditOf(EpsilonAuditRequest(), sampling.name);
    for (const EpsilonTest& test : audit.tests) {
      EXPECT_LE(test.reachable, test.claimed);
      EXPECT_GE(test.reachable, 0.98 * test.claimed - 0.01) << sampling.name;
      EXPECT_LE(test.measured.epsilon_lower, test.reachable) << sampling.name;
    }
    EXPECT_GT(audit.tests[2].measured.epsilon_lower, 0.2 * audit.tests[2].reachable)
        << sampling.name;
  }
}

// Nothing is drawn, so no mixture weakens the attack over rounds. The canary is in two of four.
TEST(EpsilonAudit, OfPassesComesNearTheClaimOverRounds) {
  EpsilonAuditRequest request;
  request.participations = 2;
  const JobConfig config = MakeAuditedJob(request, SamplingsOf("passes").front());
  ASSERT_EQ(config.plan.rounds, 4);
  const EpsilonAudit audit = Audit(config, request);
  EXPECT_EQ(audit.violations, std::vector<std::string>());
  EXPECT_EQ(audit.drawn, 2u * 2 * kRepeats);
  EXPECT_EQ(audit.refused, 0u);
  EXPECT_NEAR(audit.shift, 1, 0.15);
  EXPECT_NEAR(audit.noise_multiplier, audit.plan.NoiseMultiplier(), 0.1);
  for (const EpsilonTest& test : audit.tests) {
    EXPECT_GE(test.reachable, 0.98 * test.claimed - 0.01);
    EXPECT_LE(test.measured.epsilon_lower, test.reachable);
  }
  EXPECT_GT(audit.tests[2].measured.epsilon_lower, 0.3 * audit.tests[2].reachable);
  request.job.plan.rounds = 5;
  request.given.insert("rounds");
  EXPECT_THROW(MakeAuditedJob(request, SamplingsOf("passes").front()), std::invalid_argument);
}

TEST(EpsilonAudit, FindsHalfTheNoiseOfPassesOverRounds) {
  const CodecInfo weak = HalfNoiseCodec();
  EpsilonAuditRequest request;
  request.job.codec = &RequireCodec("float32");
  request.participations = 2;
  const EpsilonAudit audit = AuditOf(request, "passes", &weak);
  EXPECT_TRUE(Mentions(audit.violations, "the noise is too small"));
  EXPECT_NEAR(audit.noise_multiplier, audit.plan.NoiseMultiplier() / 2, 0.1);
}

TEST(EpsilonAudit, FindsNothingWrongOverRoundsWithACodecOfFloatsOrABit) {
  EpsilonAuditRequest request;
  request.job.plan.rounds = 3;
  EXPECT_EQ(AuditOf(request, "full").violations, std::vector<std::string>());
  request.job.plan.rounds = 1;
  request.job.codec = &RequireCodec("float32");
  EXPECT_EQ(AuditOf(request, "poisson").violations, std::vector<std::string>());
  request = EpsilonAuditRequest();
  request.adaptive_clip = true;
  EXPECT_EQ(AuditOf(request, "uniform").violations, std::vector<std::string>());
}

TEST(EpsilonAudit, FindsHalfTheNoise) {
  const CodecInfo weak = HalfNoiseCodec();
  EpsilonAuditRequest request;
  request.job.codec = &RequireCodec("float32");
  for (const AuditedSampling& sampling : SamplingsOf("all")) {
    const EpsilonAudit audit = AuditOf(request, sampling.name, &weak);
    EXPECT_TRUE(Mentions(audit.violations, "the noise is too small")) << sampling.name;
    EXPECT_NEAR(audit.noise_multiplier, audit.plan.NoiseMultiplier() / 2, 0.1) << sampling.name;
  }
}

TEST(EpsilonAudit, FindsABoundThatNoEncoderEnforces) {
  const CodecInfo weak = UnboundedCodec();
  EpsilonAuditRequest request;
  request.job.codec = &RequireCodec("float32");
  for (const AuditedSampling& sampling : SamplingsOf("all")) {
    const EpsilonAudit audit = AuditOf(request, sampling.name, &weak);
    EXPECT_TRUE(Mentions(audit.violations, "more than the bound")) << sampling.name;
    EXPECT_NEAR(audit.shift, 100, 10) << sampling.name;
  }
}

TEST(EpsilonAudit, FindsAPlanWithLessNoiseThanWasAskedFor) {
  EpsilonAuditRequest request;
  JobConfig config = MakeAuditedJob(request, SamplingsOf("full").front());
  config.plan.noise_sigma /= 2;
  const EpsilonAudit of_budget = Audit(config, request, 1000);
  EXPECT_TRUE(Mentions(of_budget.violations, "more than the 4 asked for"));
  request.noise_multiplier = 1.0;
  const EpsilonAudit of_noise = Audit(config, request, 1000);
  EXPECT_TRUE(Mentions(of_noise.violations, "less than the 1 asked for"));
}

EpsilonAuditRequest WithPrivateNoise() {
  EpsilonAuditRequest request;
  request.trust_mode = privacy::TrustMode::kPrivateNoise;
  request.private_noise_multiplier = 1.0;
  return request;
}

EpsilonAudit AuditUpdate(const JobConfig& config) {
  EpsilonAuditOptions options;
  options.repeats = kRepeats;
  options.error = kError;
  return AuditEpsilon(config, CanaryView::kOneUpdate, {}, options, posix::RunKey(1), [](double) {});
}

TEST(EpsilonAudit, MeasuresWhatTheServerSeesOfAnUpdateWithPrivateNoise) {
  const JobConfig config = MakeUpdateJob(WithPrivateNoise());
  const EpsilonAudit sound = AuditUpdate(config);
  EXPECT_EQ(sound.violations, std::vector<std::string>());
  EXPECT_EQ(sound.claim.adversary, privacy::Adversary::kServer);
  EXPECT_EQ(sound.drawn, 2 * kRepeats);
  EXPECT_NEAR(sound.shift, 1, 0.15);
  EXPECT_NEAR(sound.noise_multiplier, 1, 0.1) << "the device's own noise, and the quantizer's";

  // The same devices under a plan that claims twice their noise.
  EpsilonAudit weak = sound;
  JobConfig claims_more = config;
  claims_more.plan.private_noise_multiplier = 2;
  for (EpsilonTest& test : weak.tests) {
    privacy::Plan plan = claims_more.plan;
    plan.delta = test.measured.delta;
    test.claimed =
        privacy::Account(plan, 1).EpsilonOf(privacy::Adversary::kServer, privacy::View::kOneUpdate);
  }
  EXPECT_TRUE(std::any_of(weak.tests.begin(), weak.tests.end(),
                          [](const EpsilonTest& test) { return test.is_violated(); }));
  EXPECT_THROW(AuditUpdate(MakeAuditedJob(EpsilonAuditRequest(), SamplingsOf("full").front())),
               std::invalid_argument);
}

TEST(EpsilonAudit, DoesNotDependOnTheNumberOfThreads) {
  const EpsilonAuditRequest request;
  const JobConfig config = MakeAuditedJob(request, SamplingsOf("poisson").front());
  const auto draw = [&](int threads) {
    return DrawReleases(config, CanaryView::kReleases, posix::RunKey(3), 1000, threads,
                        [](double) {});
  };
  const CanaryReleases one = draw(1);
  const CanaryReleases three = draw(3);
  EXPECT_EQ(one.with, three.with);
  EXPECT_EQ(one.without, three.without);
  EXPECT_EQ(one.drawn, three.drawn);
}

TEST(EpsilonAudit, RefusesACodecThatStatesNoEpsilon) {
  EpsilonAuditRequest request;
  request.job.codec = &RequireCodec("none");
  EXPECT_THROW(MakeAuditedJob(request, SamplingsOf("full").front()), std::invalid_argument);
  EXPECT_THROW(SamplingsOf("half"), std::invalid_argument);
}

TEST(BoundGuards, TrainersKeepTheBoundAndOneThatDoesNotIsFound) {
  const ModelInfo* model = FindModel("softmax-64-10");
  const ModelInfo weak = WithoutProjection(*model);
  for (const TrainerGuard& guard :
       CheckTrainers({model, FindModel("mlp-q"), FindModel("motion")})) {
    EXPECT_TRUE(guard.holds()) << guard.model << " " << Name(guard.clipping);
    ASSERT_TRUE(guard.length.has_value()) << guard.model;
    EXPECT_GT(*guard.length, 0.99) << guard.model;
  }
  for (const TrainerGuard& guard : CheckTrainers({&weak})) {
    EXPECT_FALSE(guard.holds()) << Name(guard.clipping);
    EXPECT_GT(*guard.length, 10);
  }
}

TEST(TaskGuard, SeesTheTasksOfAJobAndThatTheyAreThoseOfItsPlan) {
  EpsilonAuditRequest request;
  request.job.plan.rounds = 3;
  for (const AuditedSampling& sampling : SamplingsOf("all")) {
    const TaskGuard guard = CheckTasks(MakeAuditedJob(request, sampling), posix::RunKey(2));
    EXPECT_EQ(guard.difference, "") << sampling.name;
    EXPECT_GT(guard.tasks, 0u) << sampling.name;
  }
  const JobConfig everybody = MakeAuditedJob(request, SamplingsOf("full").front());
  EXPECT_EQ(CheckTasks(everybody, posix::RunKey(2)).tasks, 3u * 4);
}

TEST(BoundGuards, TheServerRefusesForgedUpdatesAndOneThatDoesNotIsFound) {
  EpsilonAuditRequest request;
  JobConfig config = MakeAuditedJob(request, SamplingsOf("uniform").front());
  const ServerGuard sound = CheckServer(config, posix::RunKey(1));
  EXPECT_GT(sound.sent, 0u);
  EXPECT_EQ(sound.taken, 0u);
  EXPECT_GT(sound.length, 100);

  CodecInfo weak = UnboundedCodec();
  weak.certified = true;  // so that it claims to refuse such updates
  config.codec = &weak;
  const ServerGuard guard = CheckServer(config, posix::RunKey(1));
  EXPECT_EQ(guard.taken, guard.sent);
  EXPECT_FALSE(guard.holds());

  config.codec = &RequireCodec("float32");
  EXPECT_EQ(CheckServer(config, posix::RunKey(1)).sent, 0u) << "a baseline leaves it to devices";
}

}  // namespace
}  // namespace sotto::server
