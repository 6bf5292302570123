// Renyi divergence of the pair that dominates a uniform cohort (LossPair::kReplace, round_loss.h).
//
// Notation. z, q, N_0, N_1, l(x): see round_loss.h. Orders a are real numbers above 1.
//   Lemma 1. The Renyi divergence of order a of any mechanism that the pair dominates is at most
//     the pair's. Proof: e^((a - 1) D_a) = E_Q[(P/Q)^a] is an f-divergence of a convex f, so it is
//     the hockey-stick divergences at all factors e^epsilon > 0, integrated with weights f'' >= 0.
//     The pair's profile is no smaller at any epsilon, negative ones included (round_loss.h, lemma
//     2). That holds for all choices of colluders too, since the pair dominates them
//     (GaussianRounds).
//   Lemma 2. With the losses of round_loss.h,
//       E_Q[(P/Q)^a] - 1 = integral over x > 1/2 of N_0(x) e^l (e^((a-1) l) - 1) (1 - e^(-a l)).
//     Proof: E_P[e^((a - 1) L)] is the mass at zero plus the integral of N_0 (e^(a l) + e^(-(a-1)
//     l)); the masses, the integral of N_0 (e^l + 1) among them, add up to 1. Nothing cancels: no
//     factor is negative.
//   Lemma 3. Gauss-Legendre quadrature of 16 nodes on panels of half width h <= min(z, z^2) / 4.
//     Let E be the ellipse of rho = 8 about a panel: half axes below 4.1 h and 4 h. On E, Im s is
//     at most 1, so w = 1 - q + q e^s has no zero there (the nearest is at Im s = pi). |w| is at
//     most its value v at Re s, so |w|^a <= v^a. -ln |w| <= -ln(1 - q (1 - Re e^s)), which is
//     convex in q, so it is at most q (-ln Re e^s) <= 0.77 q m, m = min(1, 1 / z), and |w|^(1 - a)
//     is at most F = e^(0.77 a q m). |N_0| is at most e^0.5 times its value at the real part. With
//     |l| for l in each factor of lemma 2, the integrand on E is of the order of its value on the
//     real axis, apart from F, and a panel's error is below (64/15) 8^-32 times that times h. For
//     a q <= 64 the sum of the errors is below 1e-12 of the integral: if F <= e^35, because F 8^-32
//     is below 2e-14; otherwise z < 1.5, and the integral is at least q/2 (1 + q (e^(1 / (2 z^2)) -
//     1))^(a - 1) - 1, from x > 1 alone, which exceeds F e^-35. Source: Trefethen, "Is Gauss
//     Quadrature Better than Clenshaw-Curtis?" (2008), Theorem 4.5.
//   Lemma 4. The derivative of a l(x) - x^2 / (2 z^2) is at most (a - x) / z^2. So beyond a + 14 z
//     the integrand is below its bound at a times the Gaussian's mass beyond 14 deviations: less
//     than 1e-20 of the integral for rates of at least kMinPairRate.
//
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

namespace sotto::privacy {

// For a smaller rate the functions below give the unsampled Gaussian's divergence.
constexpr double kMinPairRate = 1e-9;

// rho(order) of the pair, at most the unsampled Gaussian's; relative error below 1e-11. It is the
// unsampled Gaussian's for a q > 64, or if it would take more than 8192 panels (z below about
// 0.03, or orders in the thousands of z), and +infinity for z = 0.
//   noise_multiplier  >= 0, finite
//   rate              in [0, 1]
//   order             above 1, finite
// Throws std::invalid_argument for an argument out of range.
double RdpReplacePair(double noise_multiplier, double rate, double order);

}  // namespace sotto::privacy
