#!/usr/bin/env python3
"""Writes uniform_theorem27.csv: RDP of the Gaussian under uniform sampling without replacement.

Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy and Analytical Moments
Accountant" (2019), Theorem 27, replace-one adjacency, epsilon(infinity) = infinity. The moments
B(l) are the alternating binomial sums themselves, in enough digits to survive their cancellation.
Needs mpmath. Usage: uniform_theorem27.py > uniform_theorem27.csv
"""
from mpmath import binomial, exp, log, mp, mpf, nstr, sqrt

mp.dps = 2600  # B(1000) at z = 100 cancels some 1,400 of them

ORDERS = [2, 3, 4, 5, 9, 16, 33, 64, 150, 401, 1000]
RATES = ["0.0001", "0.01", "0.05", "0.3"]
NOISE = ["0.3", "0.5", "0.7", "1", "1.4", "2", "3.1", "6", "11", "19.5", "30", "100"]


def moments(z, top):
    """B(l) for even l up to `top`, by Pascal's triangle on (L - 1)^l."""
    step = exp(1 / z**2)
    powers = [mpf(1)]  # E[L^i] = e^(i (i - 1) / (2 z^2))
    factor = mpf(1)
    for _ in range(top):
        powers.append(powers[-1] * factor)
        factor *= step
    result = {}
    for even in range(2, top + 1, 2):
        choose, total = 1, mpf(0)
        for i in range(even + 1):
            total += (-choose if i % 2 else choose) * powers[i]
            choose = choose * (even - i) // (i + 1)
        result[even] = total
    return result, powers


def log_terms(z, top):
    """The factors of q^j C(a, j) in the theorem's sum, by j."""
    b, powers = moments(z, top + 1)
    terms = {2: min(4 * (powers[2] - 1), 2 * powers[2])}
    for j in range(3, top + 1):
        terms[j] = min(4 * sqrt(b[2 * (j // 2)] * b[2 * ((j + 1) // 2)]), 2 * powers[j])
    return terms


def main():
    print("z,q,order,rdp")
    for z in NOISE:
        terms = log_terms(mpf(z), max(ORDERS))
        for order in ORDERS:
            weights = [binomial(order, j) * terms[j] for j in range(2, order + 1)]
            for q in RATES:
                rate = mpf(q)
                total = sum(w * rate ** (k + 2) for k, w in enumerate(weights))
                print(f"{z},{q},{order},{nstr(log(1 + total) / (order - 1), 18)}", flush=True)


if __name__ == "__main__":
    main()
