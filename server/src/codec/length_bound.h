// A length that an update exceeds with at most a chosen probability. Part of sotto::server/codec.
//
// For the one length of a job's updates (sotto/update_format.h). The bound holds for every update
// whose norm is at most the task's bound, however it is spread over the coordinates; the
// probability is over the dither alone. Fixed-length code: the bound is the longest code of such an
// update, and p is not used. Range code: the probabilities do not adapt, and what follows holds.
//
// Notation. n coordinates v_j in units of the noise's deviation, extra ones apart, with a sum of
// squares of at most V^2. w >= w_min is a coordinate's step, t in [0, 1) its dither, uniform and
// independent of w and of all other coordinates. m_j is the integer, h the update's scale code,
// from which all probabilities follow. U_j = |v_j| / w_min + 2^-24.
//
//   Lemma 1 (bytes). Let the decisions cost B bits, a decision of f times the range before it
//     -log2 f. The update has at most 6 + B / 8 bytes. Proof: the range starts below 2^32, each of
//     s shifts takes it times 2^8, and it ends below 2^32: s <= (B + 2^-31) / 8. Finish() shifts at
//     most five times more, and one byte of all that were shifted stays held. With the header that
//     is s + 5.
//   Lemma 2 (bits). A decision with probability P, in units of 2^-16 and P >= 1, costs at most
//     -log2(P / 2^16 * (1 - 2^-8)) if it is a one, else -log2(1 - P / 2^16). Proof: a one gets
//     floor(range / 2^16) P with a range of 2^24 or more, so at least the share P / 2^16 (1 - 2^-8)
//     and at most P / 2^16. A frozen probability moves by 2^-32 a decision (AdaptiveBit::Freeze()),
//     so at most by (n + 2) 2^-32 in all: the code takes the worse end. A fair decision costs at
//     most 1.02 bits.
//   Lemma 3 (one coordinate). A coordinate's bits are a function c(t, m) of its t and m. By the
//     symmetry t -> 1 - t, v -> -v of quantizer and contexts let v >= 0. Then m >= k needs
//     t + k - 1 <= U. Proof: m >= k means 128 v >= s + (k - 1) w, and s > w t - 1. For v < 0 the
//     condition is |v| > (1 - t) w + (k - 1) w or stronger. The unit of Q27 over w, and t's grid
//     of 2^-59, are within the 2^-24.
//   Lemma 4 (moments). Let C(t, m) be the largest c(t, m') with m' <= m. For x >= 0, with
//     m(t, U) = 0 if t > U, else floor(U - t) + 1,
//       E exp(x c(t_j, m_j)) <= G(U_j) = integral over t in [0, 1) of exp(x C(t, m(t, U_j))),
//     and G rises with U. Proof: lemma 3, and C rises with m.
//   Lemma 5 (all coordinates). For every x > 0 and y >= 0 the bits of the n coordinates have
//       ln E exp(x B) <= n max over U of (ln G(U) - y U^2) + y (V / w_min + 2^-24 sqrt(n))^2.
//     Proof: coordinates are independent, given v; ln G(U_j) <= max(...) + y U_j^2; and the U_j are
//     the sum of two vectors of the norms in the bracket. The maximum is over [0, U_max] with U_max
//     for |v| = min(V, 1024). The code takes it over intervals [a, b], as ln G(b) - y a^2.
//     An extra coordinate of magnitude e at most adds ln G at e.
//   Lemma 6 (Chernoff). P(B > b) <= exp(ln E exp(x B) - x b). So b = (ln E exp(x B) + ln(1/p)) / x
//     is exceeded with a probability of at most p. Any x and y prove a bound; the code looks for
//     good ones.
//   Lemma 7 (h). h depends on v alone, not on the dither, so the bound is needed for every h that
//     an update can have, with the v that have this h. A(h) is at least the root mean square of v
//     up to 5 % and two units of 2^-20 (UpdateScale::rms_q20 is within about 1 %): so V is at most
//     1.05 (A(h) + 2^-19) sqrt(n) there. The length is the longest of all h.
//   Lemma 8 (search). For one h, lemma 5's bound on ln E exp(x B) is convex in (x, y): ln G is
//     convex in x, the maximum of convex functions is convex. So its least over y is convex in x,
//     lemma 6's b has one valley in x, and the code walks down into it. An h whose b at any x is at
//     most another h's needs no further step: only the longest matters.
//   Lemma 9 (zeros). Extra coordinates travel also beside an update of zeros. The length is such
//     that those are longer with a probability of at most 2^-20 p: lemmas 1 to 7 with V = 0.
//
// Rounds. The bound holds for every round whose C is at most the task's, in units of the noise and
// to 2^-20: a job takes the task of its least noisy round.
//
// The default task, 7,850 parameters and C of 6.2 deviations, has a mean code of 78 bytes.
//
// A pure function, safe from any thread. Takes about 5 ms, for C of 700 deviations 25 ms.
#pragma once

#include <cstdint>

#include "sotto/train_task.h"

namespace sotto::server {

// Bytes such that every update of the task is longer with a probability of at most p.
//   task        valid; coding kRange or kFixed, without private noise; its format's padding and
//               length are not used
//   parameters  of the model; extra coordinates are the task's
//   p           in (0, 1)
// Throws std::invalid_argument for a task without such an update.
uint32_t LengthFor(const TrainTask& task, uint32_t parameters, double p);

}  // namespace sotto::server
