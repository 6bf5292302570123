// Fuzzes the accountants with random plans. Every figure is a number that is not negative, no upper
// bound is below a lower one, "best" is the smallest upper bound, and the trivial bound of
// unsampled rounds holds. A larger delta never costs more, more rounds never cost less. libFuzzer's
// time limit holds for every plan: the figures are computed as for the trials of a search
// (Effort::kQuick), and all of them together take some tenths of a second at most.
//
// Input: which of the checks that take long (byte), delta (u16), a larger delta (u16), the order of
// a filter (u16), the number of rows (byte), then for each row the sampling (byte), noise
// multiplier, rate and number of rounds (u16 each).
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/gdp.h"
#include "fuzz/input.h"
#include "plans/calibration.h"

namespace sotto::fuzz {
namespace {

using privacy::Accountant;
using privacy::AccountedEpsilon;
using privacy::GaussianRounds;
using privacy::RoundsAccountant;
using privacy::Sampling;
using Rounds = std::vector<GaussianRounds>;

constexpr double kMost = 65535.0;       // of a u16
constexpr double kSlack = 1 + 1e-9;     // for searches and rounding, relative
constexpr double kTargetEpsilon = 2.0;  // of a calibration

// On a scale of logarithms.
double Between(double low, double high, uint32_t at) {
  return low * std::pow(high / low, at / kMost);
}

// The lower half from 1e-300 to 0.5, the upper half from 0.5 to 1 - 1e-15.
double DeltaOf(uint32_t at) {
  const uint32_t half = (at & 0x7fff) * 2;
  return at < 0x8000 ? Between(1e-300, 0.5, half) : 1 - Between(0.5, 1e-15, half);
}

GaussianRounds TakeRow(Input& input) {
  constexpr Sampling kSamplings[] = {Sampling::kPoisson, Sampling::kUniform, Sampling::kNone};
  GaussianRounds row;
  row.sampling = kSamplings[input.TakeByte() % 3];
  const uint32_t noise = input.TakeU16();
  const uint32_t rate = input.TakeU16();
  const uint32_t rounds = input.TakeU16();
  row.noise_multiplier = noise == 0 ? 0 : Between(1e-3, 1e4, noise);
  row.sampling_rate = rate == 0 ? 0 : Between(1e-10, 1, rate);
  row.rounds = rounds == 0 ? 0 : static_cast<int64_t>(Between(1, 1e9, rounds));
  return row;
}

Rounds TakeRows(Input& input) {
  Rounds rows(1 + input.TakeByte() % 12);
  for (GaussianRounds& row : rows) row = TakeRow(input);
  return rows;
}

double LowerOf(const AccountedEpsilon& figure) { return figure.epsilon_lower.value_or(0.0); }

void RequireSane(const AccountedEpsilon& figure) {
  Require(figure.epsilon >= 0, "an epsilon is a number and at least 0");
  Require(figure.numeric_error >= 0, "a numeric error is a number and at least 0");
  Require(LowerOf(figure) >= 0 && LowerOf(figure) <= figure.epsilon,
          "a lower bound is at most the upper one");
}

// The figures of all accountants, the best one first.
std::vector<AccountedEpsilon> Figures(const Rounds& rows, double delta) {
  std::vector<AccountedEpsilon> figures;
  for (const Accountant accountant : privacy::OfferedAccountants()) {
    figures.push_back(AccountFor(rows, delta, accountant.Quick()));
    RequireSane(figures.back());
  }
  return figures;
}

double LargestLower(const std::vector<AccountedEpsilon>& figures) {
  double lower = 0.0;
  for (const AccountedEpsilon& figure : figures) lower = std::max(lower, LowerOf(figure));
  return lower;
}

void RequireAbove(const std::vector<AccountedEpsilon>& figures, double lower, const char* claim) {
  for (const AccountedEpsilon& figure : figures) {
    if (figure.is_upper_bound) Require(figure.epsilon * kSlack >= lower, claim);
  }
}

// The rounds as if everybody took part in each; a rate of 0 is no participation.
double Trivial(Rounds rows, double delta) {
  for (GaussianRounds& row : rows) {
    if (row.sampling != Sampling::kNone && row.sampling_rate == 0) row.rounds = 0;
  }
  return privacy::GdpEpsilon(privacy::UnsampledMu(rows), delta);
}

void CheckFilter(const Rounds& rows, double order, double delta, double larger_delta) {
  const RoundsAccountant filter(rows, delta, Accountant::RdpFilter(order));
  const double epsilon = filter.At(delta).epsilon;
  Require(epsilon >= 0, "a filter's epsilon is a number and at least 0");
  Require(filter.At(larger_delta).epsilon <= epsilon, "a larger delta never costs a filter more");
}

void CheckCalibration(const Rounds& rows, double delta) {
  Rounds noisy = rows;
  for (GaussianRounds& row : noisy) row.noise_multiplier = std::max(row.noise_multiplier, 0.5);
  const Accountant rdp("rdp");
  try {
    const double factor = NoiseFactor(noisy, kTargetEpsilon, delta, rdp);
    for (GaussianRounds& row : noisy) row.noise_multiplier *= factor;
    Require(AccountFor(noisy, delta, rdp).epsilon <= kTargetEpsilon * kSlack,
            "the calibrated noise achieves its target");
  } catch (const privacy::UnattainableEpsilon&) {
  } catch (const std::invalid_argument&) {  // no round has an effect
  }
}

// Returns the figures, the best one first.
std::vector<AccountedEpsilon> CheckPlan(const Rounds& rows, double delta) {
  const std::vector<AccountedEpsilon> figures = Figures(rows, delta);
  const double best = figures.front().epsilon;
  RequireAbove(figures, best, "best is the smallest upper bound");
  RequireAbove(figures, LargestLower(figures), "no upper bound is below a lower one");
  Require(best <= Trivial(rows, delta) * kSlack, "best is at most the trivial bound");
  return figures;
}

void CheckMoreRounds(Rounds rows, double delta, const std::vector<AccountedEpsilon>& figures) {
  for (GaussianRounds& row : rows) row.rounds += row.rounds / 8 + 1;
  RequireAbove(Figures(rows, delta), LargestLower(figures), "more rounds never cost less");
}

void CheckLargerDelta(const Rounds& rows, double larger_delta,
                      const std::vector<AccountedEpsilon>& figures) {
  RequireAbove(figures, LargestLower(Figures(rows, larger_delta)),
               "a larger delta never costs more");
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  Input input(data, size);
  const uint8_t check = input.TakeByte() % 4;
  const uint32_t first = input.TakeU16();
  const uint32_t second = input.TakeU16();
  const double delta = DeltaOf(std::min(first, second));
  const double larger_delta = DeltaOf(std::max(first, second));
  const double order = 1 + Between(1e-5, 1e4, input.TakeU16());
  const Rounds rows = TakeRows(input);
  CheckFilter(rows, order, delta, larger_delta);
  const auto figures = CheckPlan(rows, delta);
  if (check == 1) CheckMoreRounds(rows, delta, figures);
  if (check == 2) CheckLargerDelta(rows, larger_delta, figures);
  if (check == 3) CheckCalibration(rows, delta);
  return 0;
}
