#include "experiment/verdicts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/counted.h"
#include "base/names.h"
#include "experiment/run_kinds.h"
#include "experiment/student.h"

namespace sotto::server {
namespace {

using privacy::Named;

constexpr Named<Agreement> kAgreements[] = {
    {Agreement::kOpen, "open"}, {Agreement::kYes, "yes"}, {Agreement::kNo, "no"}};

// A computed difference, or one that no seed changes, up to this is rounding.
constexpr double kRounding = 1e-9;

// The cell's place with the values of `instead` on their axes.
Assignments With(Assignments at, const Assignments& instead) {
  for (Assignment& value : at) {
    const std::string* other = Find(instead, value.name);
    if (other != nullptr) value.value = *other;
  }
  return at;
}

std::optional<double> ValueOf(const CellResult& result, uint64_t seed, const std::string& figure) {
  for (const FinishedCellRun& run : result.runs) {
    if (run.seed != seed) continue;
    const auto found = run.outcome.figures.find(figure);
    if (found != run.outcome.figures.end()) return found->second;
  }
  return std::nullopt;
}

// Run by run: what `a` has more than `b` with equal seeds, or than a number; times the scale.
std::vector<double> PairedDifferences(const CellResult& a, const CellResult* b, double number,
                                      const std::string& figure, double scale) {
  std::vector<double> differences;
  for (const FinishedCellRun& run : a.runs) {
    const std::optional<double> left = ValueOf(a, run.seed, figure);
    const std::optional<double> right =
        b == nullptr ? std::optional<double>(number / scale) : ValueOf(*b, run.seed, figure);
    if (left && right) differences.push_back((*left - *right) * scale);
  }
  return differences;
}

// What both cells of a comparison have in common: the axes that the claim does not name.
Assignments Common(const Assignments& at, const Comparison& claim) {
  Assignments common;
  for (const Assignment& value : at) {
    if (Find(claim.cells, value.name) == nullptr) common.push_back(value);
  }
  return common;
}

// The probability of Student's t beyond `distance`; without a standard error 0 or 1.
double TailBeyond(double distance, const MeanDeviation& values) {
  const double error = values.standard_error();
  if (error > 0) return StudentTail(distance / error, static_cast<double>(values.count - 1));
  return distance > kRounding ? 0 : 1;
}

void Test(const Comparison& claim, Difference* d) {
  const double mean = d->here.mean;
  d->at_95 = MeanInterval(d->here, 0.95);
  d->at_90 = MeanInterval(d->here, 0.90);
  const bool has_zero = d->at_95.Has(0) || std::fabs(mean) <= kRounding;
  d->is_different = !has_zero;
  d->p_different = std::min(1.0, 2 * TailBeyond(std::fabs(mean), d->here));
  if (claim.within > 0) {
    d->is_equal = -claim.within < d->at_90.lower && d->at_90.upper < claim.within;
    d->p_equal = TailBeyond(claim.within - std::fabs(mean), d->here);
    d->is_beyond = d->at_90.lower >= claim.within || d->at_90.upper <= -claim.within;
    d->p_beyond = TailBeyond(std::fabs(mean) - claim.within, d->here);
  }
  if (d->is_different || d->is_equal || d->here.deviation <= 0) return;
  d->seeds_to_differ = SeedsToDiffer(mean, d->here.deviation);
  if (claim.within > 0) d->seeds_to_be_equal = SeedsToBeEqual(claim.within, d->here.deviation);
}

// Whether what was seen is what is expected, excludes it, or neither.
void Weigh(const Comparison& claim, Difference* d) {
  const bool is_higher = d->is_different && d->here.mean > 0;
  const bool is_lower = d->is_different && d->here.mean < 0;
  const auto weigh = [&](bool agrees, bool contradicts, double p) {
    d->agrees = agrees ? Agreement::kYes : contradicts ? Agreement::kNo : Agreement::kOpen;
    if (d->agrees == Agreement::kNo) d->p_contradicts = p;
  };
  switch (claim.expected) {
    case Expectation::kHigher:
      return weigh(is_higher, is_lower || d->is_equal, is_lower ? d->p_different : d->p_equal);
    case Expectation::kLower:
      return weigh(is_lower, is_higher || d->is_equal, is_higher ? d->p_different : d->p_equal);
    case Expectation::kEqual:
      return weigh(d->is_equal, d->is_beyond, d->p_beyond);
    case Expectation::kOpen:
      return;
  }
}

// Cells and claim, as one comparison wants them.
struct Pair {
  const CellResult& a;
  const CellResult* b;  // null: a number
  bool have_learned;    // at least one of them
};

bool HaveSeedInCommon(const Pair& pair) {
  return std::any_of(pair.a.runs.begin(), pair.a.runs.end(), [&](const FinishedCellRun& run) {
    return pair.b == nullptr ||
           std::any_of(pair.b->runs.begin(), pair.b->runs.end(),
                       [&](const FinishedCellRun& other) { return other.seed == run.seed; });
  });
}

std::optional<Difference> Compare(const Definition& definition, const Comparison& claim,
                                  const Pair& pair) {
  const bool is_main = claim.figure.empty() || claim.figure == definition.figure;
  const std::string figure = is_main ? definition.figure : claim.figure;
  Difference d;
  d.at = pair.b == nullptr ? pair.a.cell.at : Common(pair.a.cell.at, claim);
  d.here = MeanDeviationOf(PairedDifferences(pair.a, pair.b, claim.value.value_or(0), figure,
                                             is_main ? definition.scale : 1));
  if (d.here.count == 0) return std::nullopt;
  if (is_main && pair.b != nullptr && pair.a.cell.paper && pair.b->cell.paper) {
    d.paper = pair.a.cell.paper->mean - pair.b->cell.paper->mean;
  }
  if (d.here.count < 2 && !FindRunKind(definition.kind).one_run_decides) {
    d.why_open = "one run decides nothing";
    return d;
  }
  Test(claim, &d);
  d.is_decided = !is_main || pair.b == nullptr || pair.have_learned;
  if (d.is_decided) {
    Weigh(claim, &d);
  } else {
    d.why_open = "neither cell has learned anything";
  }
  return d;
}

ClaimVerdict JudgeClaim(const Definition& definition, const Comparison& claim,
                        const std::vector<CellResult>& results,
                        const std::vector<bool>& learned_nothing) {
  ClaimVerdict verdict = {claim, {}};
  for (size_t i = 0; i < results.size(); ++i) {
    const CellResult& a = results[i];
    if (!Meets(a.cell.at, claim.at) || !Meets(a.cell.at, claim.cells)) continue;
    if (MeetsOne(a.cell.at, claim.except)) continue;
    Pair pair = {a, nullptr, !learned_nothing[i]};
    for (size_t j = 0; j < results.size() && !claim.value && pair.b == nullptr; ++j) {
      if (!Meets(results[j].cell.at, With(a.cell.at, claim.than))) continue;
      pair.b = &results[j];
      pair.have_learned = pair.have_learned || !learned_nothing[j];
    }
    if (pair.b == nullptr && !claim.value) continue;
    const std::optional<Difference> difference = Compare(definition, claim, pair);
    if (difference) {
      verdict.differences.push_back(*difference);
    } else if (HaveSeedInCommon(pair)) {
      ++verdict.without_figure;
    }
  }
  std::vector<double> values;
  for (const Difference& d : verdict.differences) values.push_back(d.p_contradicts);
  values = HolmAdjusted(values);
  for (size_t i = 0; i < values.size(); ++i) verdict.differences[i].p_holm = values[i];
  return verdict;
}

}  // namespace

const char* Name(Agreement agreement) { return privacy::NameIn(kAgreements, agreement); }

Interval MeanInterval(const MeanDeviation& values, double probability) {
  const double error = values.standard_error();
  if (error <= 0) return {values.mean, values.mean};
  const double t = StudentQuantile(0.5 + probability / 2, static_cast<double>(values.count - 1));
  return {values.mean - t * error, values.mean + t * error};
}

std::string Difference::Seen(double within) const {
  if (is_open()) return "open";
  if (!is_different) return "equal";
  const char* direction = here.mean > 0 ? "higher" : "lower";
  return is_equal ? fmt::format("{}, by less than {:g}", direction, within) : direction;
}

size_t ClaimVerdict::Count(Agreement agreement) const {
  return static_cast<size_t>(
      std::count_if(differences.begin(), differences.end(),
                    [&](const Difference& d) { return d.agrees == agreement; }));
}

size_t ClaimVerdict::contradicting() const {
  return static_cast<size_t>(
      std::count_if(differences.begin(), differences.end(),
                    [](const Difference& d) { return d.p_holm <= kTestLevel; }));
}

std::string ClaimVerdict::text() const {
  if (without_figure == 0) return TextOfRows();
  return fmt::format("{}; no figure in {}", TextOfRows(), Counted(without_figure, "row"));
}

std::string ClaimVerdict::TextOfRows() const {
  const size_t rows = differences.size();
  if (rows == 0) return without_figure == 0 ? "no runs" : "open";
  if (claim.expected == Expectation::kOpen) return "shown";
  const size_t yes = Count(Agreement::kYes);
  if (yes == rows) return "agrees";
  const size_t no = contradicting();
  if (no == rows) return "differs";
  if (no > 0) {
    return fmt::format("differs in {} of {}; {} {}, {} open", no, Counted(rows, "row"), yes,
                       yes == 1 ? "agrees" : "agree", rows - no - yes);
  }
  const std::string& why = differences.front().why_open;
  const bool is_one_reason =
      !why.empty() && std::all_of(differences.begin(), differences.end(),
                                  [&](const Difference& d) { return d.why_open == why; });
  if (is_one_reason) return "open: " + why;
  return rows == 1 ? "open" : fmt::format("open: {} of {} agree", yes, Counted(rows, "row"));
}

std::vector<ClaimVerdict> Judge(const Definition& definition,
                                const std::vector<CellResult>& results,
                                const std::vector<bool>& learned_nothing) {
  std::vector<ClaimVerdict> verdicts;
  for (const Comparison& claim : definition.comparisons) {
    verdicts.push_back(JudgeClaim(definition, claim, results, learned_nothing));
  }
  return verdicts;
}

}  // namespace sotto::server
