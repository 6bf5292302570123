// What it costs that all updates have one length. Part of sotto::server/accounting.
//
// Where a task names a length, every update has exactly that many bytes, and one whose code is
// longer is sent as zeros (sotto/local_round.h). So an observer of the network learns nothing from
// lengths. In exchange a sum may lack an update, in an event that depends on the noise.
//
// Setting. In a round B devices are asked, and the plan has the length L for which an update of
// norm at most C is longer with a probability of at most p, whatever the update is
// (codec/length_bound.h). The *ideal* job is the same without the replacement: each update is
// added as it is, and all that is seen of an upload is that it took place. A device takes part in
// at most K releases. Let (epsilon, delta) be a guarantee of the ideal job for this device, for all
// that is released or seen on the network. Worlds 1 and 2 differ in the device's data alone.
//
//   Lemma 1. Releases without the device cost nothing. Proof: given the releases before it, such a
//     release is the same random function in both worlds, replacements included: other devices'
//     updates do not depend on this device's data. So it is a post-processing that both worlds
//     share, in the real job and in the ideal one.
//   Lemma 2. Let E be the event that an update is too long in one of the at most K releases with
//     the device, or that its zeros are too long in one of its attempts that are given up, of which
//     there are at most 2^20. In both worlds P(E) <= B (K + 1) p. Proof: given all that came
//     before, each of the at most B updates of such a release has a norm of at most C and its own
//     noise, drawn anew: it is too long with a probability of at most p, also if the server chose
//     the round adaptively. Add up. B counts, and not 1: another device's zeros would show in the
//     sum, too, and whether they do depends on noise that the ideal job counts on.
//     An attempt that is given up reads no sum, so zeros in it are not seen. But a device whose
//     zeros are too long reports nothing, which is seen, and may be why the attempt was given up.
//     Of the other devices that is the same random function in both worlds. Of the device itself it
//     adds 2^-20 p for each such attempt (length_bound.h, lemma 9), p in all.
//   Lemma 3. Couple the real job with the ideal one: the same data, dither and draws. Outside of E
//     all that is released or seen is equal. Proof: a replacement is the only difference, and an
//     update is replaced in E alone.
//   Lemma 4. The real job is (epsilon, delta + (1 + e^epsilon) P)-private for the device, with
//     P = B (K + 1) p. Proof: for any set S, by lemmas 3 and 2, P1(real in S) <= P1(ideal in S) + P
//     <= e^epsilon P2(ideal in S) + delta + P <= e^epsilon (P2(real in S) + P) + delta + P.
//   Lemma 5. Of several jobs the P add up, also where earlier releases decide on later jobs, if the
//     sum has a limit. Proof: lemmas 1 to 4 for all releases with the device.
//
// Zeros that are too long themselves (their extra coordinates are not zero) are not sent. An
// observer sees that, also in an attempt that releases nothing. It lies in E. An update that is too
// long in such an attempt shows in nothing.
//
// The zeros have the key of the update that they replace, of which no byte leaves the device: so no
// key encodes two updates that anybody sees. That their noise is the noise that made the update too
// long does not matter, since lemma 3 asks for nothing within E.
//
// p for a plan. The charge is to stay within kDeltaShare of delta (guarantee.h). A later job on the
// same devices raises epsilon, and with it what this job is charged. So p is chosen for an epsilon
// that is kEpsilonAhead above the plan's, and at least kLeastEpsilonCovered. A store whose life
// epsilon is above that has no room for the job.
//
// Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sotto::privacy {

// B (K + 1) of lemma 2.
//   cohort    B, the most devices that are asked in a round
//   releases  K, the most releases with one device
inline double UpdatesOfOneLength(int64_t cohort, int64_t releases) {
  return static_cast<double>(cohort) * (static_cast<double>(releases) + 1);
}

// What a guarantee at this epsilon pays in delta.
//   epsilon  of the ideal job, >= 0
//   updates  UpdatesOfOneLength()
//   p        the largest probability that an update is longer than its length
inline double DeltaOfOneLength(double epsilon, double updates, double p) {
  return (1.0 + std::exp(epsilon)) * updates * p;
}

// A plan's epsilon may grow by so much, or to so much, before the charge exceeds its share.
constexpr double kEpsilonAhead = 10;
constexpr double kLeastEpsilonCovered = 30;

// The p at which a plan of this epsilon pays `share` of its delta when all of that is used up.
inline double ProbabilityOfTooLong(double epsilon, double delta, double share, double updates) {
  const double covered = std::max(epsilon + kEpsilonAhead, kLeastEpsilonCovered);
  return share * delta / DeltaOfOneLength(covered, updates, 1);
}

}  // namespace sotto::privacy
