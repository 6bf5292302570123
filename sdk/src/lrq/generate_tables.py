#!/usr/bin/python3
"""Writes layer_tables.inc, the piecewise polynomials of the Gau-LRQ layer in integers.

usage: generate_tables.py [OUTPUT]        (default: layer_tables.inc beside this script)

A layer is drawn by its probability P in (0, 1): r is the quantile of the chi distribution with
three degrees of freedom at P, and g = sqrt(-2 ln(1 - exp(-r^2/2))).  Both are smooth functions of
u = -log2(D), D = min(P, 1-P) the distance to the nearer end, all the way from the median (u = 1)
to the last of the 2^96 layers (u = 97).  So the tables hold
  kLog2Pieces     log2(1 + f) for f in [0, 1), kSubdivisions equal pieces, and
  kLayerPieces    r and g for the lower and the upper half, kSubdivisions equal pieces in each
                  octave [2^k, 2^(k+1)) of u.
Every piece is a polynomial of degree kDegree in t in [-1, 1): coefficients in Q31, the first one
64 bits wide.  It interpolates at Chebyshev nodes, computed with 50 digits; the script prints the
largest error found on a grid ten times as fine.
"""
import os
import sys

from mpmath import mp, mpf, cos, exp, expm1, gammainc, inf, log, log1p, pi, sqrt, chebyt, lu_solve
from mpmath import matrix, nint

mp.dps = 50
DEGREE = 5
SUB_BITS = 3
SUB = 1 << SUB_BITS
MAX_U = 98


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


def nodes(count):
    return [cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def fit(ts, values):
    """Coefficients of the polynomial of degree DEGREE through the points (ts, values)."""
    a = matrix(DEGREE + 1, DEGREE + 1)
    for i, t in enumerate(ts):
        for j in range(DEGREE + 1):
            a[i, j] = t**j
    return list(lu_solve(a, matrix(values)))


def polynomial(coefficients, t):
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * t + c
    return value


def quantize(coefficients):
    out = [int(nint(c * 2**31)) for c in coefficients]
    assert all(abs(c) < 2**31 for c in out[1:]), coefficients
    return out


class Fitter:
    def __init__(self):
        self.worst = {}

    def piece(self, name, functions, low, high):
        """Fits each of the functions of x in [low, high); evaluates them together."""
        middle, half = (low + high) / 2, (high - low) / 2
        ts = nodes(DEGREE + 1)
        at_nodes = [functions(middle + half * t) for t in ts]
        checks = [mpf(i) / 10 for i in range(-10, 11)]
        at_checks = [functions(middle + half * t) for t in checks]
        result = []
        for i in range(len(at_nodes[0])):
            c = quantize(fit(ts, [v[i] for v in at_nodes]))
            real = [mpf(k) / 2**31 for k in c]
            error = max(abs(polynomial(real, t) - v[i]) for t, v in zip(checks, at_checks))
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
                pieces.append(fitter.piece("upper" if upper else "lower", functions, low, high))
        octave += 1
    return pieces


def row(c):
    return "{%d, {%s}}" % (c[0], ", ".join(str(k) for k in c[1:]))


def main():
    output = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "layer_tables.inc")
    fitter = Fitter()
    logs = [fitter.piece("log2", lambda x: (log(x) / log(2),), 1 + mpf(i) / SUB, 1 + mpf(i + 1) / SUB)
            for i in range(SUB)]
    halves = [layer_pieces(fitter, upper) for upper in (False, True)]
    lines = [
        "// Written by generate_tables.py; do not edit.", "",
        "constexpr int kDegree = %d;" % DEGREE,
        "constexpr int kSubdivisionBits = %d;" % SUB_BITS,
        "constexpr int kLayerPieceCount = %d;" % len(halves[0]), "",
        "// log2(1 + f), Q31.",
        "constexpr Piece kLog2Pieces[%d] = {" % SUB,
    ]
    lines += ["    %s," % row(p[0]) for p in logs]
    lines += ["};", "", "// {r, g} as functions of u, Q31: lower half, then upper half.",
              "constexpr PiecePair kLayerPieces[2][kLayerPieceCount] = {"]
    for half in halves:
        lines.append("    {")
        lines += ["        {%s, %s}," % (row(p[0]), row(p[1])) for p in half]
        lines.append("    },")
    lines += ["};", ""]
    with open(output, "w") as f:
        f.write("\n".join(lines))
    for key, value in sorted(fitter.worst.items()):
        print("%-10s largest error %s" % (key, mp.nstr(value, 3)))


if __name__ == "__main__":
    main()
