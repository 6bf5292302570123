// Accountants: the methods that turn rounds into an epsilon, and what each result may be used for.
//
// The accountants are the rows of one table, kAccountants in accountant.cc. Code that depends on a
// property of an accountant reads a trait of its row; it never compares names. To add an
// accountant, write a function of type AccountantKind::compose in new files and add a row to that
// table. Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"
#include "accounting/types.h"

namespace sotto::privacy {

// How an accountant's figure relates to the true epsilon, from the weakest relation to the
// strongest.
enum class Soundness {
  kApproximate,  // no bound is proved
  kUpperBound,   // the true epsilon is at most the figure
  kExact,        // an upper bound, and no other upper bound is smaller
};

struct AccountantKind {
  // The name on the command line, in JSON output and in ledgers. A name is never changed once a
  // ledger contains it.
  const char* name;
  bool is_offered;  // users may choose it by name; otherwise only "best" uses it
  bool is_in_best;  // "best" takes the smallest figure of these rows
  // The name of an accountant that takes less time and whose figure is never smaller. A search for
  // noise or rounds begins with it. nullptr: there is no such accountant.
  const char* first_guess;
  Soundness (*soundness)(Sampling sampling);
  // False if the accountant has no finite figure for these rounds at this delta.
  bool (*supports)(const std::vector<GaussianRounds>& rounds, double delta);
  // Composes the rounds. The result is tight near `delta`.
  EpsilonAt (*compose)(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);
};

// One row of the table. The default is "best": the smallest of the sound upper bounds that apply.
class Accountant {
 public:
  Accountant();

  // Throws std::invalid_argument for a name that is not offered. The message lists the offered
  // names.
  explicit Accountant(std::string_view name);

  // RDP at an order that was fixed beforehand: ComposeRdpAtOrder(). For rounds whose settings were
  // chosen after seeing earlier releases.
  //   order  above 1, finite
  static Accountant RdpFilter(double order);

  // The same, but exact Gaussian differential privacy where no round is sampled: see
  // plans/adaptivity.h. For rounds of continuous Gaussian noise only.
  static Accountant GaussianFilter(double order);

  // The same accountant for an adversary that knows the draws of sampled rounds but cannot
  // influence them: known_draws.h. A filter stays one at its order; any other accountant becomes
  // the best one that known_draws.h has. Rounds without sampling are as before.
  Accountant WithKnownDraws() const;

  const char* name() const { return filter_order_ == 0 ? row_->name : "rdp-filter"; }
  bool is_gaussian_filter() const { return is_gaussian_filter_; }
  bool knows_draws() const { return knows_draws_; }

  // 0 unless this is an RDP filter.
  double filter_order() const { return filter_order_; }

  // The soundness of the figure for rounds under this sampling. Rounds of several samplings
  // together have the weakest soundness among these samplings.
  Soundness soundness(Sampling sampling) const { return row_->soundness(sampling); }
  bool IsUpperBound(Sampling sampling) const {
    return soundness(sampling) != Soundness::kApproximate;
  }

  // True if the figures are upper bounds under every sampling. Only such an accountant may be used
  // for a guarantee.
  bool StatesGuarantees() const;

  // The accountant with which a search begins: the row's first_guess, or this accountant if there
  // is none.
  Accountant FirstGuess() const;

  // The same accountant at Effort::kQuick, for the trials of a search.
  Accountant Quick() const;
  Effort effort() const { return effort_; }

  const AccountantKind& row() const { return *row_; }

  friend bool operator==(Accountant a, Accountant b) {
    return a.row_ == b.row_ && a.filter_order_ == b.filter_order_ && a.effort_ == b.effort_ &&
           a.is_gaussian_filter_ == b.is_gaussian_filter_ && a.knows_draws_ == b.knows_draws_;
  }
  friend bool operator!=(Accountant a, Accountant b) { return !(a == b); }

 private:
  explicit Accountant(const AccountantKind* row) : row_(row) {}
  friend std::vector<Accountant> OfferedAccountants();

  const AccountantKind* row_;
  double filter_order_ = 0.0;
  bool is_gaussian_filter_ = false;
  bool knows_draws_ = false;
  Effort effort_ = Effort::kFull;
};

// All accountants that a user may choose, in the order of the table.
std::vector<Accountant> OfferedAccountants();

// Composes rounds once and then answers with their epsilon at several deltas. Not safe to share
// between threads.
class RoundsAccountant {
 public:
  // delta  in (0, 1); "pld" and "best" are tight at it and within a few orders of magnitude around
  // it. They are sound at every delta.
  // Throws std::invalid_argument as conversion.h does.
  RoundsAccountant(const std::vector<GaussianRounds>& rounds, double delta,
                   Accountant accountant = Accountant());

  // The epsilon of all the rounds at a delta in (0, 1); +infinity if the accountant does not
  // support these rounds.
  AccountedEpsilon At(double delta) const;

 private:
  EpsilonAt epsilon_at_;
};

// RoundsAccountant(rounds, delta, accountant).At(delta).
AccountedEpsilon AccountFor(const std::vector<GaussianRounds>& rounds, double delta,
                            Accountant accountant = Accountant());

}  // namespace sotto::privacy
