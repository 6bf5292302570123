// How far one cheating device can move a sum of updates. No program computes it:
// server/PRIVACY.md prints the figures, and shift_bound_test.cc compares them.
//
// The server accepts the integers m of an update only if some integers v with |v| <= C encode to
// them (sotto/update_bound.h, lemma 4). A device that cheats knows its dither before it chooses v.
// So it can choose a v just beyond the edge of a cell, where its value costs little and decodes to
// a whole step more. This file bounds what that is worth.
//
// Notation, in units of the quantizer's scale sigma. C: the bound. d: coordinates. u: a direction,
// a vector of norm 1 that does not depend on the dither. Coordinate j has a cell of step w, left
// edge L and, while v = 0, an error e uniform in (L, L + w]; over all cells e is standard normal
// (sotto/dither.h). a = e - L is the distance from zero to the cell's upper edge. y_j(k) = e + k w
// is decoded when k edges are crossed, and D_j(k) = max(0, a + (k - 1) w) is the distance to that
// cell. An honest update v gives sum u_j y_j = <u, v> + N(0, 1) with <u, v> <= C.
//
//   Lemma 1. For each lambda > 0 every accepted update has
//     sum u_j y_j <= lambda C^2 + sum W_j,  W_j = max over k of u_j y_j(k) - lambda D_j(k)^2.
//     Proof: sum D_j^2 <= C^2.
//   Lemma 2. The W_j are independent, and W_j = u_j e_j + Z_j with 0 <= Z_j. By the symmetry of the
//     cells let u_j >= 0; then no k < 0 reaches the maximum.
//   Lemma 3. Write q = u_j / lambda. Given w, E Z_j <= (2/3) u_j sqrt(q w) + u_j q / 4.
//     Proof. If q <= w the second crossing is never worth its cost: it gains u w and costs
//     lambda w (2 a + w). The first gains u w - lambda a^2, worth it while a^2 < q w; integrate
//     over a uniform in (0, w). If q > w: with v = a + (k - 1) w, k w u - lambda v^2 = u v - lambda
//     v^2 + u (w - a) is at most u q / 4 + u (w - a), whose mean is u q / 4 + u w / 2, and w / 2 <=
//     (2/3) sqrt(q w).
//   Lemma 4. The mean over the dither of the largest sum u_j y_j is at most
//       min over lambda of lambda C^2 + (2/3) R d^(1/4) / sqrt(lambda) + 1 / (4 lambda),
//     R = E sqrt(w) = 1.58739. Proof: lemmas 1 and 3, E e = 0, and sum |u_j|^(3/2) <= d^(1/4) by
//     the inequality of the power means, with equality where all |u_j| are equal. The first two
//     terms alone have the minimum (3 R^2)^(1/3) d^(1/6) C^(2/3), 3 R^2 = 7.56; the third adds at
//     most 3 C^2 / 4 over that. With lambda = 1 / (2 C) it is C + 1.5 sqrt(C) d^(1/4).
//   Lemma 5. For each t > 0 the largest sum exceeds lambda C^2 + (sum K(u_j) + x) / t with a
//     probability of at most e^-x, K(u) = ln E exp(t W). Proof: Chernoff. K is convex in u, because
//     W is a maximum of affine functions of u, and K >= 0 = K(0) by Jensen and E W >= 0.
//   Lemma 6. sum K(u_j) <= s + d max over u in [0, 1] of K(u) - s u^2, for each s, since the u_j^2
//     add up to 1. Between two points of a grid, a convex K is below its chord.
//   Lemma 7. The norm of the whole shift, in no direction chosen beforehand, has a mean of at most
//     C + 3^(1/2) (2/3)^(1/3) (d E w^2 C)^(1/3), E w^2 = 6.42981. Proof: |y_j(k) - e_j| <= D_j + w
//     for a crossed edge, so the norm is at most C plus the root of the sum of w^2 over the crossed
//     coordinates. That sum is at most lambda C^2 + sum max(0, w^2 - lambda a'^2), a' the distance
//     to the nearer edge; its density at a' is at most 2 / w, so the mean of a term is at most
//     (4/3) E w^2 / sqrt(lambda). Take the minimum over lambda and the root (Jensen).
//
// Nonces. A device without a salt of the server draws the nonce of its key alone, so it can try
// many and keep the best. Lemma 5 with a union bound covers that: for 2^b nonces take x = (b + c)
// ln 2, and the bound fails with a probability of 2^-c. A device with a salt has one dither in an
// attempt (round/attempt.h): b = 0, and lemma 4 holds on average.
//
// Pure functions in double, safe from any thread. ShiftQuantile() integrates on a grid; its error
// is below one part in 100, which it adds.
#pragma once

namespace sotto::server {

// The bound of lemma 4, in units of the quantizer's scale.
//   clip         C > 0, in these units
//   coordinates  d >= 1
double MeanShift(double clip, double coordinates);

// The bound of lemmas 5 and 6 for x = bits ln 2: exceeded with a probability of at most 2^-bits for
// one nonce. Includes the noise of an honest encoding. Takes about a second.
//   bits  > 0
double ShiftQuantile(double clip, double coordinates, double bits);

// The bound of lemma 7.
double MeanShiftNorm(double clip, double coordinates);

}  // namespace sotto::server
