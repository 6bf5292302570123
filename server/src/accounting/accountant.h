// Which method turns rounds into an epsilon, and what its result may be used for.
//
// Pure functions, safe from any thread. The names are those of the command line, the JSON output
// and the ledger; a name, once written to a ledger, is never changed.
#ifndef SOTTO_ACCOUNTING_ACCOUNTANT_H_
#define SOTTO_ACCOUNTING_ACCOUNTANT_H_

#include <optional>
#include <string>
#include <vector>

#include "accounting/conversion.h"
#include "accounting/pld.h"

namespace sotto::privacy {

enum class Accountant {
  // The smallest of the sound upper bounds that apply: for Poisson sampling and uniform cohorts RDP
  // (conversion.h), PLD (pld.h) and the Gaussian as if nothing were sampled; without sampling
  // the exact composition of Gaussians (gdp.h).
  kBest,
  kRdp,         // RDP with the improved conversion
  kRdpClassic,  // RDP with Mironov's conversion, as older tools print it
  kPld,         // privacy loss distributions
  // Gaussian differential privacy: exact without sampling; with sampling the central limit
  // theorem's approximation, which is no upper bound and never part of kBest.
  kGdp,
};

const char* Name(Accountant accountant);  // "best", "rdp", "rdp-classic", "pld", "gdp"

// Throws std::invalid_argument for any other name, listing the known ones.
Accountant AccountantByName(const std::string& name);

struct AccountedEpsilon {
  // An upper bound unless is_upper_bound is false; +infinity if the accountant has no finite one.
  double epsilon = 0.0;
  // The true smallest epsilon of the worst pair of neighbours is at least this; absent where only
  // upper bounds are known, as for uniform cohorts.
  std::optional<double> epsilon_lower;
  // How much of epsilon may be the numeric error of the method; 0 for formulas, whose rounding is
  // covered by margins of 1e-11 and below.
  double numeric_error = 0.0;
  // What the figure was computed by: "rdp", "rdp-classic", "pld", "gaussian" (exact composition of
  // unsampled Gaussians) or "gdp" (the approximation).
  const char* winner = "rdp";
  double order = 0.0;          // RDP's best order; 0 for the other methods
  bool order_at_edge = false;  // see ConvertedEpsilon
  bool is_upper_bound = true;
};

// Rounds, composed once, to be asked for their epsilon at several deltas.
class RoundsAccountant {
 public:
  // delta, in (0, 1): what kPld and kBest are to be tight for; others within a few orders of
  // magnitude do as well, every other is sound. Throws std::invalid_argument as conversion.h does.
  RoundsAccountant(const std::vector<GaussianRounds>& rounds, double delta,
                   Accountant accountant = Accountant::kBest);

  // The epsilon of all the rounds at a delta in (0, 1).
  AccountedEpsilon At(double delta) const;

 private:
  AccountedEpsilon ByRdp(double delta, Conversion conversion) const;
  AccountedEpsilon ByPld(double delta) const;
  AccountedEpsilon ByGaussian(double delta) const;
  AccountedEpsilon ByCentralLimit(double delta) const;
  AccountedEpsilon Best(double delta) const;

  std::vector<GaussianRounds> rounds_;  // with an effect only
  Accountant accountant_;
  bool is_sampled_ = false;
  bool has_true_lower_bound_ = false;
  std::optional<Pld> pld_;
};

// RoundsAccountant(rounds, delta, accountant).At(delta).
AccountedEpsilon AccountFor(const std::vector<GaussianRounds>& rounds, double delta,
                            Accountant accountant = Accountant::kBest);

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_ACCOUNTANT_H_
