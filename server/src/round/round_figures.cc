#include "round/round_figures.h"

#include <algorithm>
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

FigureValue NoiseToSignalOf(const RoundFacts& facts) {
  const std::optional<UpdateFigures>& figures = facts.outcome->figures;
  return figures ? ValueOf(figures->noise_to_signal) : FigureValue();
}

// It follows from the job's options, or from the noisy sum, which epsilon covers.
Audience Everybody(const privacy::Plan& /*plan*/) { return Audience::kPublic; }

using Figure = RoundFigure;
using Outcome = RoundOutcome;
using Plan = privacy::Plan;
using Bounds = privacy::CertificateBounds;

// The order is the one of a release in the ledger's JSON.
const Figure kFigures[] = {
    Figure("noise_sigma", "model units", "deviation of the noise of one encoding, per coordinate")
        .Seen(OfOutcome<&Outcome::noise_sigma>)
        .Kept(OfPlan<&Plan::noise_sigma>)
        .For(Everybody)
        .In(kReport | kRoundsCsv | kLedger | kResults | kOverview | kMetrics)
        .OfNoise()
        .Gauge("sotto_noise_sigma",
               "Deviation of one encoding's noise in the last attempt, model units"),
    Figure("clip_l2", "model units", "bound on the norm of an update")
        .Seen(OfOutcome<&Outcome::clip_l2>)
        .Kept(OfPlan<&Plan::clip_l2>)
        .For(Everybody)
        .In(kReport | kRoundsCsv | kLedger | kResults | kOverview | kMetrics)
        .Gauge("sotto_clip_bound", "Bound on an update's norm in the last attempt, model units"),
    Figure("extra_scale", "model units",
           "scale of one coordinate in place of clip bit and accuracy beside an update; 0: none")
        .Kept(OfPlan<&Plan::clip_bit_scale>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("sampling", "", "how cohorts are drawn")
        .Kept(SamplingOf)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("devices", "devices", "eligible devices, of which the cohort was drawn")
        .Seen(OfOutcome<&Outcome::devices>)
        .Kept(OfPlan<&Plan::devices>)
        .For(Everybody)
        .In(kLedger | kResults | kAttempts | kOverview),
    Figure("cohort", "devices", "size of a cohort by the plan, under Poisson sampling the mean")
        .Kept(OfPlan<&Plan::cohort>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("sampling_rate", "", "probability that a device is drawn")
        .Kept(SamplingRateOf)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("expected_cohort", "devices", "mean size of a cohort of the devices that were eligible")
        .Kept(ExpectedCohortOf)
        .For(Everybody)
        .In(kResults | kOverview),
    Figure("planned_reports", "updates", "whose noise the released sum has")
        .Kept(OfPlan<&Plan::planned_reports>)
        .For(Everybody)
        .In(kLedger | kResults | kOverview),
    Figure("drawn", "devices", "devices that were drawn")
        .Seen(OfOutcome<&Outcome::cohort>)
        .In(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kMetrics)
        .Gauge("sotto_last_drawn", "Devices drawn for the last attempt"),
    Figure("reported", "updates", "complete, valid updates of drawn devices")
        .Seen(OfOutcome<&Outcome::reported>)
        .Kept(OfRelease<&LedgerEntry::reported>)
        .In(kEverywhere & ~(kStatus | kServeLog))
        .Gauge("sotto_last_reported", "Updates of the last attempt that count")
        .Sum({"sotto_updates_accepted_total", "Updates that count in a release", true}),
    Figure("dimension", "coordinates", "encoded coordinates of one update")
        .Kept(OfPlan<&Plan::dimension>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("certificate_eta", "", "bound on the distance between one encoding's noise and Gaussian")
        .Kept(OfCertificate<&Bounds::eta>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("certificate_tau", "", "the same, of the tails")
        .Kept(OfCertificate<&Bounds::tau>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("certificate_range", "", "where these two hold")
        .Kept(OfCertificate<&Bounds::range>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("noise_multiplier", "", "deviation of the released sum's noise over its sensitivity")
        .Seen(NoiseMultiplierOf)
        .Kept(OfRelease<&LedgerEntry::noise_multiplier>)
        .For(Everybody)
        .In(kReport | kLedger | kResults | kOverview)
        .OfNoise(),
    Figure("accounted_noise_multiplier", "", "the same without the colluders' part of the noise")
        .Kept(OfRelease<&LedgerEntry::accounted_noise_multiplier>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("charged_rounds", "rounds", "rounds of the job so far that are charged")
        .Kept(OfRelease<&LedgerEntry::charged_rounds>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("earlier_rounds", "rounds", "charged rounds of the jobs before it")
        .Kept(OfRelease<&LedgerEntry::earlier_rounds>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("accountant", "", "of the first claim")
        .Kept(AccountantOf)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("numeric_error", "", "bound on the numeric error that epsilon includes")
        .Kept(OfRelease<&LedgerEntry::numeric_error>)
        .For(Everybody)
        .In(kLedger | kResults),
    Figure("unclipped_fraction", "", "noisy share of the cohort that was not clipped")
        .Seen(OfOutcome<&Outcome::unclipped_fraction>)
        .For(Everybody)
        .In(kReport | kRoundsCsv | kResults | kOverview | kMetrics)
        .Gauge("sotto_unclipped_share", "Noisy share of the last cohort that was not clipped"),
    Figure("device_accuracy", "",
           "noisy accuracy on the devices of the model with which the round began")
        .Seen(OfOutcome<&Outcome::device_accuracy>)
        .For(Everybody)
        .In(kReport | kResults | kAttempts | kOverview | kMetrics)
        .Gauge("sotto_device_accuracy",
               "Noisy accuracy on the devices, of the model before the last one"),
    Figure("topped_up", "updates", "zero updates, noise alone, that the server added")
        .Seen(OfOutcome<&Outcome::topped_up>)
        .In(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kPageTable | kServeLog),
    Figure("refused", "updates", "updates of drawn devices that were refused")
        .Seen(OfOutcome<&Outcome::rejected>)
        .In(kResults | kAttempts | kOverview | kServeLog)
        .UnlessZero()
        .Sum({"sotto_updates_refused_total", "Updates of drawn devices that were refused", false}),
    Figure("checked_in", "devices", "devices heard that lack nothing, drawn or not")
        .Seen(OfOutcome<&Outcome::checked_in>)
        .In(kResults | kAttempts | kOverview | kMetrics)
        .Gauge("sotto_last_checked_in", "Devices heard in the last attempt"),
    Figure("update_bytes", "bytes", "encoded bytes of all reports")
        .Seen(OfOutcome<&Outcome::update_bytes>)
        .In(kReport | kRoundsCsv | kResults | kAttempts | kOverview | kPageTable)
        .Words("bytes")
        .Sum({"sotto_update_bytes_total", "Bytes of accepted updates", false}),
    Figure("noise_to_signal", "", "norm of the update's noise over the norm of the rest, estimated")
        .Seen(NoiseToSignalOf)
        .In(kResults | kOverview | kMetrics)
        .Gauge("sotto_noise_to_signal",
               "Norm of the last release's noise over that of the rest, estimated"),
    Figure("opened", "seconds since 1970", "when the attempt began")
        .Seen(TimeOf<&Outcome::opened_ms>)
        .In(kResults | kOverview),
    Figure("closed", "seconds since 1970", "when it took no further update")
        .Seen(TimeOf<&Outcome::closed_ms>)
        .In(kResults | kOverview),
    Figure("published", "seconds since 1970", "when its result was published")
        .Seen(TimeOf<&Outcome::published_ms>)
        .In(kResults | kOverview | kPageTable),
    Figure("late_ms", "ms", "how long after its time that was")
        .Seen(OfOutcome<&Outcome::late_ms>)
        .In(kResults | kAttempts | kOverview),
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

RoundFigure& RoundFigure::Seen(Reader reader) {
  seen_ = reader;
  return *this;
}

RoundFigure& RoundFigure::Kept(Reader reader) {
  kept_ = reader;
  return *this;
}

RoundFigure& RoundFigure::For(AudienceFunction audience) {
  audience_ = audience;
  return *this;
}

RoundFigure& RoundFigure::In(Places places) {
  places_ = places;
  return *this;
}

RoundFigure& RoundFigure::OfNoise() {
  is_of_noise_ = true;
  return *this;
}

RoundFigure& RoundFigure::Words(const char* words) {
  words_ = words;
  return *this;
}

RoundFigure& RoundFigure::UnlessZero() {
  is_said_if_zero_ = false;
  return *this;
}

RoundFigure& RoundFigure::Gauge(const char* name, const char* help) {
  gauge_ = name;
  gauge_help_ = help;
  return *this;
}

RoundFigure& RoundFigure::Sum(const Counter& counter) {
  counter_ = counter;
  return *this;
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

bool RoundFigure::CanRead(const RoundFacts& facts) const {
  return (facts.release != nullptr && IsKept()) || (facts.outcome != nullptr && IsSeen());
}

FigureValue RoundFigure::Read(const RoundFacts& facts) const {
  if (!CanRead(facts) || (is_of_noise_ && facts.is_without_noise)) return {};
  return facts.release != nullptr && IsKept() ? kept_(facts) : seen_(facts);
}

Span<const RoundFigure> RoundFigures() { return {kFigures, std::size(kFigures)}; }

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
