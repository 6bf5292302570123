#!/usr/bin/python3
"""Shows that functions of a program for Cortex-M3 compute in integers.

no_float.py PROGRAM FUNCTION...

That core has no floating point: each operation but a change of sign is a call to libgcc or libm. From
the functions, named as in calls.txt, nothing may be reached but Sotto's own code, Mbed TLS, copies,
divisions of integers and counts of their zeros. Exit status 1, with a line for each call to anything else; 2 if the program does
not have one of the functions.
"""

import re
import sys

import call_graph

INTEGER = re.compile(r"sotto::|mbedtls_|chacha20_block$|mem(cpy|set|move|cmp)$|"
                     r"__aeabi_(u?ldivmod|[il]div0)$|__udivmoddi4$|__ctzdi2$")

# They compare the clipping bound with the noise, before anything is converted.
CHECKS_OF_ARGUMENTS = ("sotto::UpdateEncoder::Begin", "sotto::ComputeUpdateScale")
COMPARISON = re.compile(r"__aeabi_(fmul|fcmp\w+)$")


def main(path, *roots):
    program = call_graph.Program(path)
    stack = call_graph.Stack(program, call_graph.Calls())
    faults = set()
    waiting = set()
    for root in roots:
        if not program.called(root):
            print(f"{path} has no {root}")
            return 2
        waiting |= program.called(root)
    seen = set()
    while waiting:
        caller = waiting.pop()
        seen.add(caller)
        for callee in stack.callees(caller):
            if INTEGER.match(program.readable[callee]):
                waiting |= {callee} - seen
            elif not (program.readable[caller] in CHECKS_OF_ARGUMENTS and
                      COMPARISON.match(program.readable[callee])):
                faults.add(f"{program.readable[caller]} calls {program.readable[callee]}")
    print("\n".join(sorted(faults | stack.faults)) or f"{len(seen)} functions without floating point")
    return 1 if faults | stack.faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
