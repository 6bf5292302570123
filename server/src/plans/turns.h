// Turns: the releases in which one device takes part, what they cost it, and the proof that a limit
// on them is a guarantee which needs no secret (Sampling::kPasses).
//
// Setup. Device d has the data D in world 1 and D' in world 2. Release t = 1, 2, ... counts over
// the whole life of a store. It is a sum that is read:
//   y_t = sum of u_i over the devices A_t that were asked + e_t.
// u_i is what device i adds, 0 if it does not report or is refused. |u_i| <= C_t, the bound on all
// coordinates, clip bit and accuracy included (Plan::ClipWithExtras()). S_t is the deviation of the
// noise e_t without the colluders' part. w is all that is neither d's data nor any e_t: coins, the
// other devices' data, who is connected when, the colluders' keys. The keys from which the noise of
// honest encodings follows are not in w. Four conditions:
//   (A) Blind. w has the same law in both worlds. Each next action is a function of (y_1 ...
//       y_(t-1), w): whom to ask, C, the noise, to wait, close, give up, seal, stop, begin a job,
//       add or revoke a device.
//   (B) Limited. On every path the sum of (2 C_t / S_t)^2 over the releases with d in A_t is at
//       most M^2.
//   (C) Noisy. Given w and the releases before, e_t is N(0, S_t^2 I), or adds independent noise to
//       that. (The encoder's noise lies on a grid: guarantee.h.)
//   (D) Others. What another device adds, and whether it reports, is a function of (y_1 ...
//       y_(t-1), w). It does not depend on d's data: not at a gateway that both share, nor because
//       the server is full or one of them came first.
// The server may choose by anything else. Presence is not covered, only the data that d trains on.
//
//   Lemma 1 (one release). Given w and the releases before, the means of y_t in the two worlds
//     differ by at most 2 C_t if d is in A_t, and are equal if not. Proof: by (D) each other u_i is
//     the same. |u_d| <= C_t in either world. Where d drops out, diverges or is refused, u_d = 0.
//   Lemma 2 (a device's own noise, trust mode kPrivateNoise). Lemma 1 holds. Proof: each place in a
//     cohort has one private noise X, which depends on no data, whether the device fills the place
//     or the server tops it up. So the worlds are coupled by X. Clamping (clamp) is a contraction:
//     |clamp(v + X) - clamp(v' + X)| <= |v - v'| <= 2 C_t for updates v and v', and <= C_t if v' =
//     0 is the server's. X is no part of what the adversary may know besides: who knew d's X and
//     not the place's would see v + X - X' where d drops out. Refusals: private_noise.h, lemma 9,
//     with d's own turns in the place of all rounds.
//   Lemma 3 (the guarantee). Under (A) to (D) the transcript (w, y_1, y_2, ...) is M-GDP. Proof:
//     lemma 1 and gdp.h, lemma 2. So K turns of noise multiplier z have mu = sqrt(K) / z, however
//     they were chosen. The figure is the limit's: it holds whenever and why ever a job stops.
//   Lemma 4 (rounds that differ). M^2 is the sum of the K largest 1 / z_t^2 of the rounds that the
//     job begins with. Rounds may be added if the limit stays: a device whose sum the next turn
//     would lift above M^2 is not asked. A limit on the count of turns is not enough: with a noise
//     decay of 0.9, two turns and epsilon 6, the rounds 40 to 50 would make it 8.22.
//   Lemma 5 (drop-outs). Given who reported, e_t is the noise of Plan::planned_reports encodings,
//     since the server tops up. So (C) holds, and a drop-out enters by lemma 1 alone. The divisor
//     of y_t is the planned one: the number of reports would be a function of drop-outs without
//     noise.
//   Lemma 6 (attempts). An attempt whose sum is not read has no y, so it costs nothing against
//     observers of models or the network, whatever blind event ended it: few connected, few reports
//     (a quorum), a deadline, a crash. The server writes "sealed" before it reads a sum, and each
//     sealed attempt is charged to all of its devices. So on every path, also where a crash follows
//     the seal, the charged turns hold all turns with a y, and (B) holds if the charged ones keep
//     the limit. A quorum is decided before the seal. To the server an attempt is an update that it
//     sees, read or not. So in trust mode kPrivateNoise an attempt is sealed when it begins, and a
//     device is in at most K attempts.
//   Lemma 7 (the network). Who is asked, who uploads, how many, and the times of messages are
//     functions of the releases before and of w, if reporting and times are blind. So they are in
//     the transcript of lemma 3, and the figure against the network is the same. To those who see
//     models the time of a release tells nothing if rounds end at times that are set beforehand:
//     at deadlines, or, where devices upload at such a time, too (Plan::timed_reports), at a look
//     whether all uploads have come. Otherwise a round that closes when all have reported tells how
//     long the slowest device trained, and so how much data it has: its times must be blind.
//   Lemma 8 (colluders). c participants tell their noise: S_t is the one of planned_reports - c
//     encodings. Their keys and data are in w; what they send and when they come is a function of w
//     and the releases before, so they may choose by what they saw, and all c may be beside d each
//     time.
//   Lemma 9 (several jobs). Lemma 3 runs over the life of a store for each device by itself: every
//     turn adds to d's sum, however the later job was chosen. Releases of uniform or Poisson
//     cohorts are turns of the devices that were really drawn: draws depend on no data, so they are
//     in w. A device that joins begins at 0; one that is enrolled again, or gets another key, keeps
//     its sum. The number of devices occurs nowhere.
//   Lemma 10 (limits). M must be fixed before the first turn that counts towards it, and with it
//     the number n of encoded coordinates (guarantee.h, lemma 12): n grows by D B with each turn. A
//     limit over several jobs is fixed for the pair, LifeLimit(). So it is for the probability that
//     an update is too long (accounting/one_length.h), which grows by 2 B p with each turn. A
//     limit that is raised is a new promise, for all releases, in the place of the smaller one.
//   Lemma 11 (zero-out). Let d in world 2 add zero wherever it is asked: u_d = 0, clip bit and
//     accuracy included, as if the server topped its place up. Then 2 C_t becomes C_t, and mu is
//     half of the other. (A device that sends an update of zeros has a clip bit all the same.) It
//     is not the world without d: there other devices are asked. And it needs d's place to be its
//     own: were the first B of more devices taken, another one could fill it, and 2 C_t would be
//     right again.
//   Lemma 12 (Order::kFixed). Let A_t follow from a list that looks at nobody's presence, let
//     rounds end at deadlines, without a quorum, and the divisor be the planned one. Then, to those
//     who see models, d may be connected and report by its own data: that enters u_d = 0 alone,
//     lemma 1. With Order::kConnected another device is asked where d is away, so d's availability
//     must be blind. The network sees a drop-out itself, without noise, under any order.
//   Lemma 13 (an owner of g devices). Let (A) to (D) hold with the data of all g devices in the
//     place of d's. The g together have at most mu sqrt(g) if no two of them are ever in one
//     cohort, and g mu otherwise. Proof: with j_t of them in A_t the means differ by at most 2 j_t
//     C_t. If j_t <= 1 the squares of all their turns add up to g M^2. Otherwise the norm of a sum
//     of g vectors of norm M is at most g M. The encoder's n is g times as large, and so are the
//     probabilities that an update is too long or refused.
//
// Pure functions, safe from any thread; std::invalid_argument names an argument outside its range.
// Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// What one device was charged for, or a limit on that.
struct Turns {
  int64_t count = 0;
  double mu_squared = 0.0;   // sum of (2 C_t / S_t)^2; +infinity if there was a turn without noise
  double coordinates = 0.0;  // n: encoded coordinates of the releases, D B for each
  double too_long = 0.0;     // probability that an update of the releases is too long
};

Turns operator+(const Turns& a, const Turns& b);

// A turn in this round, >= 0, of the plan. Whatever the plan's sampling, it is charged as
// replace-one with the draw known (lemma 9).
Turns TurnIn(const Plan& plan, int64_t round);

// The limit for one device in a job of kPasses (lemma 4).
Turns LimitOf(const Plan& plan);

// A limit over all jobs of a store, such that turns within it cost at most epsilon at this delta.
// kLifeEncoderShare of epsilon is set aside for the encoder's terms, and kDeltaShare of delta for
// updates that are too long. The count is unlimited.
//   epsilon  > 0, finite
constexpr double kLifeEncoderShare = 0.01;
Turns LifeLimit(double epsilon, double delta, const CertificateBounds& certificate);

// True if the limit still holds after this turn. Sums of mu^2 may be above it by kArithmeticMargin,
// which the statement of a plan has on its side (composition.h).
bool HasRoom(const Turns& used, const Turns& turn, const Turns& limit);

// The epsilon of these turns for one device, encoder's terms included. Fixed beforehand it is a
// limit. As the figure of what was used it is the operator's information, and no guarantee.
Guarantee GuaranteeOf(const Turns& turns, double delta, const CertificateBounds& certificate);

// min(100, half of the devices, rounded up): the cohort of a job that names none.
int64_t DefaultCohort(int64_t devices);

// The fewest turns with which `rounds` rounds are possible: ceil(rounds B / N).
int64_t ParticipationsFor(int64_t rounds, int64_t cohort, int64_t devices);

// The rounds that K turns of each device allow: floor(K N / B).
int64_t RoundsFor(int64_t participations, int64_t cohort, int64_t devices);

// At most so many rounds can have a cohort of devices of different owners: the largest T at which
// the owners' turns, each owner once a round, fill T cohorts: sum of min(T, K g) >= T B.
//   devices_of  g: the devices of each owner, each device without an owner by itself; each >= 1
int64_t RoundsForOwners(const std::vector<int64_t>& devices_of, int64_t participations,
                        int64_t cohort);

// R, the signal to noise ratio of a whole run in which every update has norm C and all point in one
// direction: T C to sqrt(T) 2 C z sqrt(D) / B. With T = K N / B and z = sqrt(K) / mu it is
//   mu sqrt(N B) / (2 sqrt D),
// whatever K and T are. All arguments > 0.
double SignalToNoise(double mu, int64_t devices, int64_t cohort, int64_t dimension);

// The product N B at which a run has this ratio.
double DevicesTimesCohortFor(double ratio, double mu, int64_t dimension);

// The mu of all the data of an owner of `devices` devices, each of them at `mu` (lemma 13).
double OwnerMu(double mu, int64_t devices, bool may_share_cohorts);

}  // namespace sotto::privacy
