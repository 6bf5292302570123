#include "round/round_figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "plans/claim_kinds.h"
#include "round/ledger_entry.h"
#include "round/round_outcome.h"

namespace sotto::server {
namespace {

template <class Number>
FigureValue ValueOf(Number value) {
  if constexpr (std::is_integral_v<Number>) return static_cast<int64_t>(value);
  if constexpr (std::is_floating_point_v<Number>) return static_cast<double>(value);
}

template <class Value>
FigureValue ValueOf(const std::optional<Value>& value) {
  return value ? FigureValue(*value) : FigureValue();
}

template <auto kMember>
FigureValue OfOutcome(const RoundFacts& facts) {
  return ValueOf(facts.outcome->*kMember);
}

template <auto kMember>
FigureValue OfRelease(const RoundFacts& facts) {
  return ValueOf(facts.release->*kMember);
}

template <auto kMember>
FigureValue OfPlan(const RoundFacts& facts) {
  return ValueOf(facts.release->plan.*kMember);
}

template <auto kMember>
FigureValue OfCertificate(const RoundFacts& facts) {
  return ValueOf(facts.release->plan.certificate.*kMember);
}

// A time is not known if it is 0. In seconds since 1970.
template <auto kMember>
FigureValue TimeOf(const RoundFacts& facts) {
  const int64_t ms = facts.outcome->*kMember;
  return ms == 0 ? FigureValue() : FigureValue(static_cast<double>(ms) * 1e-3);
}

FigureValue SamplingOf(const RoundFacts& facts) {
  return std::string(privacy::Name(facts.release->plan.sampling));
}

FigureValue SamplingRateOf(const RoundFacts& facts) {
  const privacy::Plan& plan = facts.release->plan;
  return plan.devices == 0 ? FigureValue() : FigureValue(plan.SamplingRate());
}

FigureValue ExpectedCohortOf(const RoundFacts& facts) {
  return facts.release->plan.ExpectedCohort();
}

FigureValue NoiseMultiplierOf(const RoundFacts& facts) {
  if (facts.plan == nullptr) return {};
  return facts.plan->NoiseMultiplier(facts.outcome->round);
}

FigureValue AccountantOf(const RoundFacts& facts) {
  const privacy::Claim* headline =
      privacy::FindClaim(facts.release->claims, privacy::ClaimKinds().front());
  return headline == nullptr ? privacy::Claim().accountant : headline->accountant;
}

// The mean over the devices that were counted.
template <auto kMember>
FigureValue OfTraffic(const RoundFacts& facts) {
  const RoundOutcome::Traffic& traffic = facts.outcome->traffic;
  if (traffic.devices == 0) return {};
  return std::round(static_cast<double>(traffic.*kMember) / static_cast<double>(traffic.devices));
}

FigureValue NoiseToSignalOf(const RoundFacts& facts) {
  const std::optional<UpdateFigures>& figures = facts.outcome->figures;
  return figures ? ValueOf(figures->noise_to_signal) : FigureValue();
}

constexpr Places kRelease = kLedger | kResults;

// A figure that follows from the job's options, or from the noisy sum, which epsilon covers.
RoundFigure Public(Places places, const char* name, const char* unit, const char* help) {
  return RoundFigure(name, unit, help).In(places).For([](const privacy::Plan&) {
    return Audience::kPublic;
  });
}

// A figure that tells who took part.
RoundFigure Operators(Places places, const char* name, const char* unit, const char* help) {
  return RoundFigure(name, unit, help).In(places);
}

using Outcome = RoundOutcome;
using Plan = privacy::Plan;
using Bounds = privacy::CertificateBounds;

// The order is the one of a release in the ledger's JSON.
const RoundFigure kFigures[] = {
    Public(kReport | kRoundsCsv | kLedger | kResults | kOverview | kMetrics, "noise_sigma",
           "model units", "deviation of the noise of one encoding, per coordinate")
        .Seen(OfOutcome<&Outcome::noise_sigma>)
        .Kept(OfPlan<&Plan::noise_sigma>)
        .OfNoise()
        .Gauge("sotto_noise_sigma",
               "Deviation of one encoding's noise in the last attempt, model units"),
    Public(kReport | kRoundsCsv | kLedger | kResults | kOverview | kMetrics, "clip_l2",
           "model units", "bound on the norm of an update")
        .Seen(OfOutcome<&Outcome::clip_l2>)
        .Kept(OfPlan<&Plan::clip_l2>)
        .Gauge("sotto_clip_bound", "Bound on an update's norm in the last attempt, model units"),
    Public(kRelease, "extra_scale", "model units",
           "scale of one coordinate in place of clip bit and accuracy beside an update; 0: none")
        .Kept(OfPlan<&Plan::clip_bit_scale>),
    Public(kRelease, "sampling", "", "how cohorts are drawn").Kept(SamplingOf),
    Public(kLedger | kResults | kAttempts | kOverview, "devices", "devices",
           "eligible devices, of which the cohort was drawn")
        .Seen(OfOutcome<&Outcome::devices>)
        .Kept(OfPlan<&Plan::devices>),
    Public(kRelease, "cohort", "devices",
           "size of a cohort by the plan, under Poisson sampling the mean")
        .Kept(OfPlan<&Plan::cohort>),
    Public(kRelease, "sampling_rate", "", "probability that a device is drawn")
        .Kept(SamplingRateOf),
    Public(kResults | kOverview, "expected_cohort", "devices",
           "mean size of a cohort of the devices that were eligible")
        .Kept(ExpectedCohortOf),
    Public(kLedger | kResults | kOverview, "planned_reports", "updates",
           "whose noise the released sum has")
        .Kept(OfPlan<&Plan::planned_reports>),
    Operators(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kMetrics, "drawn",
              "devices", "devices that were drawn")
        .Seen(OfOutcome<&Outcome::cohort>)
        .Gauge("sotto_last_drawn", "Devices drawn for the last attempt"),
    Operators(kEverywhere & ~(kStatus | kServeLog), "reported", "updates",
              "complete, valid updates of drawn devices")
        .Seen(OfOutcome<&Outcome::reported>)
        .Kept(OfRelease<&LedgerEntry::reported>)
        .Gauge("sotto_last_reported", "Updates of the last attempt that count")
        .Sum({"sotto_updates_accepted_total", "Updates that count in a release", true}),
    Public(kRelease, "dimension", "coordinates", "encoded coordinates of one update")
        .Kept(OfPlan<&Plan::dimension>),
    Public(kRelease, "certificate_eta", "",
           "bound on the distance between one encoding's noise and Gaussian")
        .Kept(OfCertificate<&Bounds::eta>),
    Public(kRelease, "certificate_tau", "", "the same, of the tails")
        .Kept(OfCertificate<&Bounds::tau>),
    Public(kRelease, "certificate_range", "", "where these two hold")
        .Kept(OfCertificate<&Bounds::range>),
    Public(kReport | kLedger | kResults | kOverview, "noise_multiplier", "",
           "deviation of the released sum's noise over its sensitivity")
        .Seen(NoiseMultiplierOf)
        .Kept(OfRelease<&LedgerEntry::noise_multiplier>)
        .OfNoise(),
    Public(kRelease, "accounted_noise_multiplier", "",
           "the same without the colluders' part of the noise")
        .Kept(OfRelease<&LedgerEntry::accounted_noise_multiplier>),
    Public(kRelease, "charged_rounds", "rounds", "rounds of the job so far that are charged")
        .Kept(OfRelease<&LedgerEntry::charged_rounds>),
    Public(kRelease, "earlier_rounds", "rounds", "charged rounds of the jobs before it")
        .Kept([](const RoundFacts& facts) {
          const int64_t rounds = facts.release->earlier_rounds;
          return rounds < privacy::kUnknownTurns ? ValueOf(rounds) : FigureValue();
        }),
    Public(kRelease, "accountant", "", "of the first claim").Kept(AccountantOf),
    Public(kMetrics, "planned_epsilon", "",
           "of the first claim once all rounds are released, if the fleet stays")
        .Seen(OfOutcome<&Outcome::planned_epsilon>)
        .Gauge("sotto_epsilon_planned",
               "Epsilon against the public once all rounds are released, if the fleet stays"),
    Public(kRelease, "numeric_error", "", "bound on the numeric error that epsilon includes")
        .Kept(OfRelease<&LedgerEntry::numeric_error>),
    Public(kReport | kRoundsCsv | kResults | kOverview | kMetrics, "unclipped_fraction", "",
           "noisy share of the cohort that was not clipped")
        .Seen(OfOutcome<&Outcome::unclipped_fraction>)
        .Gauge("sotto_unclipped_share", "Noisy share of the last cohort that was not clipped"),
    Public(kReport | kResults | kAttempts | kOverview | kMetrics, "device_accuracy", "",
           "noisy accuracy on the devices of the model with which the round began")
        .Seen(OfOutcome<&Outcome::device_accuracy>)
        .Gauge("sotto_device_accuracy",
               "Noisy accuracy on the devices, of the model before the last one"),
    Public(kResults | kAttempts | kOverview | kServeLog, "threshold", "",
           "prediction error above which a sample is an anomaly, from the devices' noisy histogram")
        .Seen(OfOutcome<&Outcome::threshold>)
        .Words("is the threshold of prediction errors"),
    Operators(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kPageTable | kServeLog,
              "topped_up", "updates", "zero updates, noise alone, that the server added")
        .Seen(OfOutcome<&Outcome::topped_up>),
    Operators(kResults | kAttempts | kOverview | kServeLog, "refused", "updates",
              "updates of drawn devices that were refused")
        .Seen(OfOutcome<&Outcome::rejected>)
        .UnlessZero()
        .Sum({"sotto_updates_refused_total", "Updates of drawn devices that were refused", false}),
    Operators(kResults | kAttempts | kOverview | kMetrics, "checked_in", "devices",
              "devices heard that lack nothing, drawn or not")
        .Seen(OfOutcome<&Outcome::checked_in>)
        .Gauge("sotto_last_checked_in", "Devices heard in the last attempt"),
    Operators(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kPageTable, "update_bytes",
              "bytes", "encoded bytes of all reports")
        .Seen(OfOutcome<&Outcome::update_bytes>)
        .Words("bytes")
        .Sum({"sotto_update_bytes_total", "Bytes of accepted updates", false}),
    Operators(kResults | kOverview | kMetrics | kServeLog, "bytes_up", "bytes",
              "mean that a device sent for its participation, TLS included")
        .Seen(OfTraffic<&RoundOutcome::Traffic::bytes_up>)
        .Words("bytes up a device")
        .Gauge("sotto_participation_bytes_up", "Mean bytes from a device in the last attempt"),
    Operators(kResults | kOverview | kMetrics | kServeLog, "bytes_down", "bytes",
              "mean that it received")
        .Seen(OfTraffic<&RoundOutcome::Traffic::bytes_down>)
        .Gauge("sotto_participation_bytes_down", "Mean bytes to a device in the last attempt"),
    Operators(kResults | kOverview | kMetrics | kServeLog, "turns", "turnarounds",
              "mean number of its requests")
        .Seen(OfTraffic<&RoundOutcome::Traffic::turns>)
        .Gauge("sotto_participation_turns", "Mean requests of a device in the last attempt"),
    Operators(kResults | kOverview | kMetrics, "noise_to_signal", "",
              "norm of the update's noise over the norm of the rest, estimated")
        .Seen(NoiseToSignalOf)
        .Gauge("sotto_noise_to_signal",
               "Norm of the last release's noise over the norm of the rest, estimated"),
    Operators(kResults | kOverview, "opened", "seconds since 1970", "when the attempt began")
        .Seen(TimeOf<&Outcome::opened_ms>),
    Operators(kResults | kOverview, "closed", "seconds since 1970",
              "when it took no further update")
        .Seen(TimeOf<&Outcome::closed_ms>),
    Operators(kResults | kOverview | kPageTable, "published", "seconds since 1970",
              "when its result was published")
        .Seen(TimeOf<&Outcome::published_ms>),
    Operators(kResults | kAttempts | kOverview, "late_ms", "ms", "how long after its time that was")
        .Seen(OfOutcome<&Outcome::late_ms>),
};

}  // namespace

const char* Name(Audience audience) {
  return audience == Audience::kPublic ? "public" : "operator";
}

std::optional<double> NumberOf(const FigureValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* estimate = std::get_if<privacy::AccuracyEstimate>(&value)) {
    return estimate->accuracy;
  }
  return std::nullopt;
}

std::string RoundFigure::words() const {
  if (words_ != nullptr) return words_;
  std::string words = name_;
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string RoundFigure::gauge() const {
  return gauge_ != nullptr ? gauge_ : fmt::format("sotto_last_{}", name_);
}

std::string RoundFigure::gauge_help() const {
  if (gauge_help_ != nullptr) return gauge_help_;
  return fmt::format("Of the last attempt: {}{}{}", help_, *unit_ == '\0' ? "" : "; ", unit_);
}

const FigureValue* RoundFigure::RecordedIn(const RoundFacts& facts) const {
  if (facts.release == nullptr || !IsSeen()) return nullptr;
  const auto found = facts.release->recorded.find(name_);
  return found == facts.release->recorded.end() ? nullptr : &found->second;
}

bool RoundFigure::CanRead(const RoundFacts& facts) const {
  return (facts.release != nullptr && IsKept()) || (facts.outcome != nullptr && IsSeen()) ||
         RecordedIn(facts) != nullptr;
}

FigureValue RoundFigure::Read(const RoundFacts& facts) const {
  if (!CanRead(facts) || (is_of_noise_ && facts.is_without_noise)) return {};
  if (facts.release != nullptr && IsKept()) return kept_(facts);
  return facts.outcome != nullptr && IsSeen() ? seen_(facts) : *RecordedIn(facts);
}

Span<const RoundFigure> RoundFigures() { return {kFigures, std::size(kFigures)}; }

RoundMetrics::RoundMetrics() : sums(RoundFigures().size()) {
  const RoundOutcome nothing;
  for (const RoundFigure& figure : RoundFigures()) {
    gauges.push_back(NumberOf(figure.Read({&nothing})));
  }
}

void RoundMetrics::Add(const RoundOutcome& outcome) {
  const Span<const RoundFigure> table = RoundFigures();
  for (size_t i = 0; i < table.size(); ++i) {
    const std::optional<double> value = NumberOf(table[i].Read({&outcome}));
    if (value || outcome.released) gauges[i] = value;
    if (outcome.released || !table[i].counter().of_releases) sums[i] += value.value_or(0);
  }
}

const RoundFigure& FigureByName(std::string_view name) {
  for (const RoundFigure& figure : RoundFigures()) {
    if (name == figure.name()) return figure;
  }
  throw std::invalid_argument(fmt::format("{} is no figure of a round", name));
}

FigureList FiguresFor(Audience reader, const privacy::Plan& plan, Place place,
                      Span<const RoundFigure> table) {
  FigureList figures;
  for (const RoundFigure& figure : table) {
    const bool may_see =
        reader == Audience::kOperator || figure.AudienceOf(plan) == Audience::kPublic;
    if (may_see && figure.IsIn(place)) figures.push_back(&figure);
  }
  return figures;
}

FigureList FiguresForOperator(Place place) { return FiguresFor(Audience::kOperator, {}, place); }

}  // namespace sotto::server
