// Which method turns rounds into an epsilon, and what its result may be used for.
//
// The accountants are the rows of one table, kAccountants in accountant.cc. Whoever asks what an
// accountant is good for asks one of its traits, never for its name. A new accountant is a function
// of type AccountantKind::compose in files of its own and a row in that table.
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_ACCOUNTANT_H_
#define SOTTO_ACCOUNTING_ACCOUNTANT_H_

#include <string>
#include <string_view>
#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"
#include "accounting/types.h"

namespace sotto::privacy {

// What an accountant's figure says about the true epsilon, from the weakest to the strongest.
enum class Soundness {
  kApproximate,  // nothing for certain
  kUpperBound,   // the true epsilon is at most this
  kExact,        // the same, and no other upper bound is smaller
};

struct AccountantKind {
  // On the command line, in JSON output and in ledgers, where a name once written is never changed.
  const char* name;
  bool is_offered;  // to users by its name; an accountant that is not is a part of "best" only
  bool is_in_best;  // "best" takes the smallest figure of these
  // An accountant whose figure is never smaller and takes less time: where a search for noise or
  // for rounds begins. nullptr: there is none.
  const char* first_guess;
  Soundness (*soundness)(Sampling sampling);
  // False if it has no finite figure for such rounds or delta.
  bool (*supports)(const std::vector<GaussianRounds>& rounds, double delta);
  // The rounds composed. `delta` is the one to be tight for.
  EpsilonAt (*compose)(const std::vector<GaussianRounds>& rounds, double delta);
};

// One of the accountants, by default "best": the smallest of the sound upper bounds that apply.
class Accountant {
 public:
  Accountant();

  // Throws std::invalid_argument for a name that is not offered, listing those that are.
  explicit Accountant(std::string_view name);

  const char* name() const { return row_->name; }

  // What its figure for rounds under this sampling says. Rounds of several samplings together have
  // the weakest of these.
  Soundness soundness(Sampling sampling) const { return row_->soundness(sampling); }
  bool IsUpperBound(Sampling sampling) const {
    return soundness(sampling) != Soundness::kApproximate;
  }

  // True if its figures are upper bounds under every sampling: only such an accountant may stand
  // behind a guarantee.
  bool StatesGuarantees() const;

  // The accountant to begin a search with; itself if no other takes less time.
  Accountant FirstGuess() const;

  const AccountantKind& row() const { return *row_; }

  friend bool operator==(Accountant a, Accountant b) { return a.row_ == b.row_; }
  friend bool operator!=(Accountant a, Accountant b) { return a.row_ != b.row_; }

 private:
  explicit Accountant(const AccountantKind* row) : row_(row) {}
  friend std::vector<Accountant> OfferedAccountants();

  const AccountantKind* row_;
};

// All that a user may name, in the order of the table.
std::vector<Accountant> OfferedAccountants();

// Rounds, composed once, to be asked for their epsilon at several deltas.
class RoundsAccountant {
 public:
  // delta, in (0, 1): what "pld" and "best" are to be tight for; others within a few orders of
  // magnitude do as well, every other is sound. Throws std::invalid_argument as conversion.h does.
  RoundsAccountant(const std::vector<GaussianRounds>& rounds, double delta,
                   Accountant accountant = Accountant());

  // The epsilon of all the rounds at a delta in (0, 1); +infinity if the accountant does not
  // support them.
  AccountedEpsilon At(double delta) const;

 private:
  EpsilonAt epsilon_at_;
};

// RoundsAccountant(rounds, delta, accountant).At(delta).
AccountedEpsilon AccountFor(const std::vector<GaussianRounds>& rounds, double delta,
                            Accountant accountant = Accountant());

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_ACCOUNTANT_H_
