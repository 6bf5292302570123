// The phases of a job: runs of rounds that were planned together. Part of sotto::server/round.
//
// A job is planned for a fleet of N devices and a number of rounds. Both may change while it runs:
// devices join and leave, and rounds are added. Bound and noise never change, and neither does the
// cohort B or, with Poisson sampling, the rate q. A round that the plan dominates is charged as
// planned (lemmas 4 and 5). Every other change begins a phase, and each of its rounds is accounted
// with the N and q that it had.
//
// Why one figure holds for every device that was ever a member.
//   Lemma 1. Fix the fleet of each round, data aside. Let device d be in the fleets of the rounds
//     T. Two worlds that differ in d's data, or in d's presence, give the same distribution to
//     every other round: its cohort does not hold d, and its noise and draw depend on no data. So d
//     loses what the rounds of T cost. Proof: a round outside T is post-processing of earlier
//     releases.
//   Lemma 2. Hence the composition of all rounds of the job, each with its own N and q, bounds the
//     loss of every device that was a member of any of them: leaving rounds out lowers no bound
//     that composes.
//   Lemma 3. Who changes a fleet may have seen the models before: more devices because the accuracy
//     is low, or more rounds. Then the settings of a phase depend on earlier releases, and the
//     filter at the order of the first plan (plans/adaptivity.h) gives the figure of several
//     phases. That order was fixed before any model was released: it is the best order for the
//     job's planned rounds, whatever came later.
//   Lemma 4. A uniform cohort of a fleet of N' >= N devices costs at most one of N, whatever the
//     colluders choose. Let n honest encodings be in the cohort, of N' - c devices. Let m be the
//     smaller of n and N - c. The plan's colluders can choose m: the round has no more noise, and a
//     rate of m / (N - c). If n = m, that rate is at least n / (N' - c); otherwise it is 1. A
//     larger rate and less noise never give more privacy (accounting/grouping.h). So the plan's
//     dominating pair dominates the round's, and so does the plan's RDP curve at each order.
//   Lemma 5. Let a pair dominate each round, and let the pairs be fixed beforehand. Then they
//     compose, even if each round is chosen among those that its pair dominates by somebody who has
//     seen the releases before (Zhu, Dong, Wang 2022, Theorem 10). RDP curves that bound each round
//     compose likewise at every order at once. So rounds of fleets of at least N devices have the
//     figure of the plan, by its own accountant and at its own delta, even if the fleet followed
//     from the models. A plan with a floor F in [B, N] (Plan::device_floor) is accounted as one of
//     F devices, and lemma 4 with F in place of N gives the same for all fleets of at least F
//     devices, the first one of N included: its figure is an upper bound for each of them.
//   Lemma 6. The same holds for Poisson sampling while the fleet has at most N devices: q, noise
//     and cap are the plan's, and fewer devices exceed the cap less often. Without sampling it
//     always holds: N does not enter the figure. So a floor has a meaning for uniform cohorts only.
//   Remark. There are two cases. If all rounds are charged as planned, the figure is the plan's
//     own; if not, it is the filter's. Both are at the same delta, and each bounds its case. At the
//     beginning either may come, so a set of outcomes has a part in both. So a budget of epsilon
//     promises twice delta if the fleet may get smaller than planned, or than its floor (kPoisson:
//     larger), or rounds may be added.
//   Remark. The lemmas need changes that depend on released models and on nothing else of the
//     devices' data. Who reported, and who was drawn, are the operator's to see and nobody else's:
//     a change that follows from them is not covered (PRIVACY.md, "A fleet that changes").
//   Remark. A change of members that leaves N as it was begins no phase, by lemma 5.
//
// Passes (plans/turns.h). The number of devices is in no figure, and added rounds lift no limit. So
// the rounds of a job are one phase, whatever joins, leaves or is added.
//
// What does not change with the fleet.
//   - Uniform: B devices are drawn of N, without replacement. While N < B no round opens.
//   - Poisson: each device is drawn with probability q = B0 / N0, of the fleet that the job began
//     with. The sum is divided by q N. The cap on the draw and the noise stay, so a larger fleet
//     makes the cap cost more, and that is charged (plans/composition.h, lemma 5).
//   - Full: the B = N0 devices of each round are all of N0, or drawn of more. Nothing is amplified,
//     which charges a drawn cohort at least what it costs.
//
// A plain value: any thread may read it.
#pragma once

#include <cstdint>
#include <vector>

#include "plans/plan.h"

namespace sotto::server {

class JobPhases {
 public:
  // From the next attempt on, this many devices are eligible. Without a call it is plan.devices.
  //   round     of that attempt
  //   attempts  of the whole job before it
  // Returns false if nothing has changed.
  bool SetFleet(const privacy::Plan& plan, int64_t devices, int64_t round, int64_t attempts);

  // The plan had so many rounds before it got more.
  void ExtendFrom(int64_t rounds);

  // The plan with the limit of its devices, which follows from the rounds with which the job began.
  privacy::Plan Limited(privacy::Plan plan) const;

  // The number of eligible devices now.
  int64_t DevicesNow(const privacy::Plan& plan) const {
    return fleets_.empty() ? plan.devices : fleets_.back().devices;
  }

  // The phases after `rounds` rounds and `attempts` attempts, as rounds that compose. Fleets with
  // the same ChargedDevices() in a row are one phase. The last phase has the next round; it may
  // have no other one yet.
  //   plan    of the job: the devices with which it began, the rounds that it has now
  //   rounds  released
  std::vector<privacy::SpentRounds> Split(const privacy::Plan& plan, int64_t rounds,
                                          int64_t attempts) const;

 private:
  struct Fleet {
    int64_t devices = 0;
    int64_t first_round = 0;
    int64_t attempts_before = 0;
  };

  std::vector<Fleet> fleets_;  // by first round; before the first one the plan's
  std::vector<int64_t> ends_;  // of the plan before each extension, ascending
};

// The number of devices for which a round of a fleet of `devices` is charged: the plan's, or its
// floor, if the plan dominates it (lemmas 4 to 6), otherwise `devices`.
int64_t ChargedDevices(const privacy::Plan& plan, int64_t devices);

// The plan of a round of a fleet of this many devices. Without sampling the number does not matter,
// and the plan is as it was.
privacy::Plan PlanForFleet(privacy::Plan plan, int64_t devices);

}  // namespace sotto::server
