#!/usr/bin/python3
"""Writes layer_tables.inc, the piecewise polynomials of the Gau-LRQ layer in integers.

usage: generate_tables.py [OUTPUT]        (default: layer_tables.inc beside this script)

A layer is drawn by its probability P in (0, 1): r is the quantile of the chi distribution with
three degrees of freedom at P, and g = sqrt(-2 ln(1 - exp(-r^2/2))).  Both are smooth functions of
u = -log2(D), D = min(P, 1-P) the distance to the nearer end, all the way from the median (u = 1)
to the last of the 2^96 layers (u = 97).  So the tables hold
  kLog2Pieces     log2(1 + f) for f in [0, 1), SUB equal pieces, and
  kLayerPieces    r and g for the lower and the upper half, SUB equal pieces in each octave
                  [2^k, 2^(k+1)) of u.
Every piece is a polynomial of degree DEGREE in s = t / 2^32, t a 32-bit integer, so that s lies in
[-1/2, 1/2).  Horner's rule takes the upper half of each product and so rounds down; t is also
rounded down.  The fit compensates both: it assumes the mean of the truncated parts.  Its
coefficients come from the Chebyshev series, the highest first.  Each is rounded before the next one
is chosen, so the lower coefficients correct the rounding of the higher ones.  Computed with 50
digits; the script prints the largest error found on a grid.
"""
import os
import sys

from mpmath import mp, mpf, cos, exp, expm1, gammainc, inf, log, log1p, pi, sqrt, nint

mp.dps = 50
DEGREE = 6
SUB_BITS = 3
SUB = 1 << SUB_BITS
MAX_U = 98
NODES = 16
# Fraction bits of c1 ... and of c0, for the pieces of log2 and of r and g.
LOG2_BITS = (33, 56)
LAYER_BITS = (31, 59)
# Half a unit of Q27, so that cutting off the bits below rounds to the nearest.
LAYER_HALF = 1 << (LAYER_BITS[1] - 28)


def quantile(u, upper, guess):
    """r with P(chi_3 <= r) = 2^-u, or P(chi_3 > r) = 2^-u; Newton on the logarithm."""
    target, r = -u * log(2), guess
    for _ in range(200):
        half = r * r / 2
        tail = gammainc(mpf(3) / 2, half, inf, regularized=True) if upper else gammainc(
            mpf(3) / 2, 0, half, regularized=True)
        slope = sqrt(2 / pi) * r * r * exp(-half) / tail * (-1 if upper else 1)
        step = (log(tail) - target) / slope
        r = r - step if step < r else r / 2
        if abs(step) < mpf(10)**-40 * r:
            return r
    raise ArithmeticError("no convergence at u = %s" % u)


def complement(r):
    """g(r) = sqrt(-2 ln(1 - exp(-r^2/2)))."""
    half = r * r / 2
    return sqrt(-2 * log(-expm1(-half))) if half < 1 else sqrt(-2 * log1p(-exp(-half)))


def term(power, integer, bits):
    """What the integer coefficient of s^power stands for: coefficient - 1/2 where a product is cut
    off before it is added."""
    if power == 0:
        return mpf(integer) / 2**bits[1]
    cut = mpf(1) / 2 if power < DEGREE else 0
    return (integer - cut) / mpf(2)**bits[0]


def fit(nodes, values, bits):
    """Integer coefficients of the polynomial through (2 s, value), the constant one first."""
    rest, out = list(values), [0] * (DEGREE + 1)
    for power in range(DEGREE, -1, -1):
        chebyshev = 2 * sum(v * mp.chebyt(power, x) for x, v in zip(nodes, rest)) / len(nodes)
        # The leading coefficient of the series cut off here, as a polynomial in s = x / 2.
        leading = chebyshev * mpf(2)**(2 * power - 1)
        scale = bits[1] if power == 0 else bits[0]
        out[power] = int(nint(leading * mpf(2)**scale + (mpf(1) / 2 if 0 < power < DEGREE else 0)))
        real = term(power, out[power], bits)
        rest = [v - real * (x / 2)**power for x, v in zip(nodes, rest)]
    # Then no inner sum of Horner's rule leaves 32 bits.
    assert sum(abs(c) + 1 for c in out[1:]) < 2**31, out
    return out


def polynomial(coefficients, bits, s):
    return sum(term(k, c, bits) * s**k for k, c in enumerate(coefficients))


class Fitter:
    def __init__(self):
        self.worst = {}

    def piece(self, name, bits, functions, low, high):
        """Fits each of the functions of x in [low, high); evaluates them together."""
        # In the middle of the values that t stands for.
        def at(s):
            return functions((low + high) / 2 + (high - low) * (s + mpf(2)**-33))

        nodes = [cos(pi * (2 * i + 1) / (2 * NODES)) for i in range(NODES)]
        checks = [mpf(i) / 20 for i in range(-10, 11)]
        at_nodes = [at(x / 2) for x in nodes]
        at_checks = [at(s) for s in checks]
        result = []
        for i in range(len(at_nodes[0])):
            c = fit(nodes, [v[i] for v in at_nodes], bits)
            error = max(abs(polynomial(c, bits, s) - v[i]) for s, v in zip(checks, at_checks))
            key = "%s[%d]" % (name, i)
            self.worst[key] = max(self.worst.get(key, mpf(0)), error)
            result.append(c)
        return result


def layer_pieces(fitter, upper):
    guess = [mpf(1.5)]

    def functions(u):
        guess[0] = quantile(u, upper, guess[0])
        return guess[0], complement(guess[0])

    pieces = []
    octave = 0
    while 2**octave < MAX_U:
        for sub in range(SUB):
            low = mpf(2)**octave * (1 + mpf(sub) / SUB)
            if low < MAX_U:
                high = mpf(2)**octave * (1 + mpf(sub + 1) / SUB)
                pieces.append(
                    fitter.piece("upper" if upper else "lower", LAYER_BITS, functions, low, high))
        octave += 1
    return pieces


def row(c, half=0):
    return "{%d, {%s}}" % (c[0] + half, ", ".join(str(k) for k in c[1:]))


def main():
    output = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "layer_tables.inc")
    fitter = Fitter()
    logs = [
        fitter.piece("log2", LOG2_BITS, lambda x: (log(x) / log(2),), 1 + mpf(i) / SUB,
                     1 + mpf(i + 1) / SUB) for i in range(SUB)
    ]
    halves = [layer_pieces(fitter, upper) for upper in (False, True)]
    lines = [
        "// Written by generate_tables.py; do not edit.", "",
        "// log2(1 + f): c0 in Q%d, the others in Q%d." % LOG2_BITS[::-1],
        "constexpr Piece kLog2Pieces[%d] = {" % SUB,
    ]
    lines += ["    %s," % row(p[0]) for p in logs]
    lines += [
        "};", "",
        "// {r, g} as functions of u, lower half, then upper half: c0 in Q%d with half a unit of Q27,"
        % LAYER_BITS[1], "// the others in Q%d." % LAYER_BITS[0],
        "constexpr ShortPair kLayerPieces[2][%d] = {" % len(halves[0])
    ]
    for half in halves:
        lines.append("    {")
        lines += ["        {%s, %s}," % (row(p[0], LAYER_HALF), row(p[1], LAYER_HALF)) for p in half]
        lines.append("    },")
    lines += ["};", ""]
    with open(output, "w") as f:
        f.write("\n".join(lines))
    for key, value in sorted(fitter.worst.items()):
        print("%-10s largest error %s" % (key, mp.nstr(value, 3)))


if __name__ == "__main__":
    main()
