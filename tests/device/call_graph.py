#!/usr/bin/python3
"""Bounds the stack of a program for Cortex-M along its call graph.

call_graph.py [--path] PROGRAM OBJECTS...

Disassembles PROGRAM, an ELF file. A function's frame is the number of bytes that its instructions
subtract from the stack pointer, in libc and libgcc as elsewhere; its callees are the targets of its
branches. calls.txt lists the functions that calls through pointers reach, and the bounded recursions;
sotto.proto says how deep messages nest. OBJECTS, folders of the objects that the program was linked
from, show which functions' addresses are stored.
Prints "BOUND of RESERVED": the bytes of the deepest path, with an interrupt at its end, and those
that the program reserves; with --path before that the frames of the path.

Exit status 1, with a line for each fault: a call through a pointer in a function that calls.txt
does not have; a function whose address is stored and that calls.txt does not have as reached;
recursion; a frame whose size is not constant; a bound beyond the reserved bytes. A fault of the
processor is not in the bound: it ends the program (startup.cc), which no longer needs the memory that
the fault overwrites.
"""

import bisect
import fnmatch
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CALLS = SOURCE / "tests/device/calls.txt"
PROTO = SOURCE / "sdk/src/wire/sotto.proto"

# They run at the same priority, so one of them at most is on the stack.
HANDLERS = ("SottoOnTick", "SottoOnUart")

# Armv7-M Architecture Reference Manual, B1.5.7: an exception pushes 8 words, with floating-point
# registers 26, and one more where that aligns the stack.
EXCEPTION_FRAME = 4 * (8 + 1)
EXCEPTION_FRAME_WITH_FPU = 4 * (26 + 1)


def run(*command, text=None):
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def register_bytes(registers):
    """"{r4, r6-r8, lr}": 20."""
    size = 0
    for part in registers.strip("{}").split(","):
        first, _, last = part.strip().partition("-")
        count = int(last[1:]) - int(first[1:]) + 1 if last else 1
        size += count * (8 if first[0] == "d" else 4)
    return size


def stack_taken(operation, operands):
    """Bytes that an instruction takes off the stack pointer; None if a register says how many."""
    if operation.startswith(("push", "vpush")):
        return register_bytes(operands)
    if operation.startswith(("stmdb", "vstmdb")) and operands.startswith("sp!"):
        return register_bytes(operands.partition(", ")[2])
    if match := re.search(r"\[sp, #-(\d+)\]!", operands):
        return int(match[1])
    if not operands.startswith("sp, ") or not re.match("add|sub|mov|bic|and|orr|ldr", operation):
        return 0
    last = operands.split(", ")[-1]
    if operation.startswith("sub") and last.startswith("#"):
        return int(last[1:])
    return 0 if operation.startswith("add") and last.startswith("#") else None


class Function:
    """What the instructions of a function say."""

    def __init__(self, begin):
        self.begin = begin
        self.frame = 0  # as if each instruction that takes from the stack ran once a call
        self.targets = set()  # addresses
        self.calls_pointer = False
        self.is_dynamic = False
        self.goes_on = False  # into the function behind it, as libgcc's assembly does
        self.popped = None  # the register that the last `pop` of one register filled
        self.holds_sp = set()  # registers to which the stack pointer was copied

    def add(self, address, operation, operands):
        taken = stack_taken(operation, operands)
        # Armv6-M: back from a frame of a constant size, and back to the caller.
        if match := re.match(r"(r\d+), sp(, #0)?$", operands):
            self.holds_sp.add(match[1])
        elif operation.startswith("mov") and operands.removeprefix("sp, ") in self.holds_sp:
            taken = 0
        elif operation == "pop" and (match := re.match(r"\{(r\d+)\}$", operands)):
            self.popped = match[1]
        is_return = operation == "bx" and operands in ("lr", self.popped)
        self.is_dynamic |= taken is None
        self.frame += taken or 0
        is_call = re.match(r"blx?(\.|$)", operation)
        target = re.match(r"(?:\w+, )?([0-9a-f]+) <", operands)
        if target and operation[0] in "bc":
            # Back to its own beginning is a loop, except by a call.
            if is_call or int(target[1], 16) != self.begin:
                self.targets.add(int(target[1], 16))
        elif is_call or operation == "bx" and not is_return:
            self.calls_pointer = True
        elif operands.startswith("pc, ") and "[sp]" not in operands and operation != "mov":  # a table's jump
            self.calls_pointer = True
        # A call at the end does not return.
        is_last = re.match(r"(b|bl|bx|udf|bkpt)(\.[nw])?$", operation) or "pc" in operands
        self.goes_on = not is_last


def disassemble(program, begins, data):
    """Functions by the addresses where they begin; data: addresses where a constant does."""
    functions = {}
    function = None
    for line in run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", program).splitlines():
        line = re.split(r"\s*[;@]", line)[0]
        if match := re.match(r"([0-9a-f]+) <.+>:$", line):
            address = int(match[1], 16)
            if address in begins:
                if function and function.goes_on:
                    function.targets.add(address)
                function = functions[address] = Function(address)
            elif address in data:
                function = None
        elif (match := re.match(r"\s*([0-9a-f]+):\s+([a-z]\S*)\s*(.*)$", line)) and function:
            if not match[2].startswith("nop") and match.groups()[1:] != ("movs", "r0, r0"):  # zeros
                function.add(int(match[1], 16), match[2], match[3])
    return functions


def readable_names(symbols):
    """"sotto::nn::SoftmaxBatch::Read": no parameters, template arguments or suffixes of GCC's."""
    for name in run("arm-none-eabi-c++filt", text="\n".join(symbols)).splitlines():
        name = name.replace("(anonymous namespace)::", "").partition("(")[0]
        while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
            name = shorter
        yield re.sub(r"\.(constprop|isra|part)\.\d+", "", name.split()[-1])


def fits(readable, pattern):
    return fnmatch.fnmatchcase(readable, pattern) if "*" in pattern else readable == pattern


class Program:
    def __init__(self, path):
        self.address = {}
        begins, data = {}, set()
        for line in run("arm-none-eabi-readelf", "-sW", path).splitlines():
            match = re.match(r" *\d+: ([0-9a-f]+) +\S+ (\w+) +\w+ +\w+ +(?!UND)\S+ (\S+)$", line)
            if not match:
                continue
            address, kind, symbol = int(match[1], 16), match[2], match[3]
            if kind == "FUNC":
                address &= ~1  # Thumb
                begins[address] = symbol
            elif kind == "OBJECT":
                data.add(address)
            self.address[symbol] = address
        self.functions = disassemble(path, begins, data)
        self.order = sorted(self.functions)
        names = [begins[address] for address in self.functions]
        self.readable = dict(zip(self.functions, readable_names(names)))
        has_fpu = "Tag_FP_arch" in run("arm-none-eabi-readelf", "-A", path)
        self.exception_frame = EXCEPTION_FRAME_WITH_FPU if has_fpu else EXCEPTION_FRAME

    def reserved(self):
        return self.address["sotto_stack_top"] - self.address["sotto_stack_begin"]

    def containing(self, address):
        """Where the function begins that an address is in."""
        return self.order[bisect.bisect(self.order, address) - 1]

    def called(self, pattern):
        return {begin for begin, other in self.readable.items() if fits(other, pattern)}

    def stored_in(self, folders):
        """Readable names of the functions whose addresses the folders' objects store."""
        objects = [str(path) for folder in folders for path in pathlib.Path(folder).rglob("*.obj")]
        stored = re.findall(r"^[0-9a-f]+ R_ARM_(?:ABS32|TARGET1|\w*MOVW_ABS_NC) +(\S+)$",
                            run("arm-none-eabi-objdump", "-r", *objects), re.M)
        begins = {self.address[symbol] for symbol in stored if symbol in self.address}
        return {self.readable[begin] for begin in begins if begin in self.functions}


class Calls:
    """The table of what a disassembly does not show."""

    def __init__(self):
        self.reached = {}  # caller: functions
        self.stored = set()
        self.again = {}  # function: how often it may be below itself
        self.never = set()  # pairs of caller and function
        for line in CALLS.read_text().splitlines():
            words = line.partition("#")[0].split()
            if "->" in words:
                arrow = words.index("->")
                for caller in words[:arrow]:
                    self.reached.setdefault(caller, set()).update(words[arrow + 1:])
            elif "never" in words:
                self.never.add((words[0], words[2]))
            elif "again" in words:
                self.again[words[0]] = nesting() if words[2] == "nesting" else int(words[2])
            elif words:
                self.stored.update(words[1:])

    def knows(self, readable):
        patterns = self.stored.union(*self.reached.values())
        return any(fits(readable, pattern) for pattern in patterns)


def nesting():
    """How deep the messages of sotto.proto contain each other: 0 if none had another as a field."""
    text = re.sub(r"//.*", "", PROTO.read_text())
    fields = {}
    for message in re.split(r"^message ", text, flags=re.M)[1:]:
        fields[message.split()[0]] = re.findall(r"(\w+) \w+ = \d+", message)

    def depth(name):
        return max((1 + depth(field) for field in fields[name] if field in fields), default=0)

    return max(map(depth, fields))


class Stack:
    """The deepest paths of a program."""

    def __init__(self, program, calls):
        self.program = program
        self.calls = calls
        self.known = {}  # (function, entered): (bytes, path)
        self.open = []
        self.faults = set()

    def callees(self, begin):
        function, readable = self.program.functions[begin], self.program.readable[begin]
        callees = {self.program.containing(target) for target in function.targets}
        if begin not in function.targets:  # to the middle: a loop
            callees.discard(begin)
        if function.calls_pointer:
            if readable not in self.calls.reached:
                self.faults.add(f"a call through a pointer: {readable}")
            for other in self.calls.reached.get(readable, ()):
                callees |= self.program.called(other)
        return [callee for callee in sorted(callees)
                if (readable, self.program.readable[callee]) not in self.calls.never]

    def enter(self, begin, entered):
        """With the function counted if it may recur; None if it has done so often enough."""
        readable = self.program.readable[begin]
        if readable not in self.calls.again:
            return entered
        if entered.count(readable) > self.calls.again[readable]:
            return None
        return tuple(sorted((*entered, readable)))

    def deepest(self, begin, entered=()):
        """(bytes, functions) of the deepest path from a function.
        entered: those functions above it that may recur
        """
        entered = self.enter(begin, entered)
        if entered is None:
            return 0, ()
        state = (begin, entered)
        if state in self.open:
            cycle = self.open[self.open.index(state):]
            names = [self.program.readable[function] for function, _ in cycle]
            self.faults.add("recursion: " + " -> ".join(names))
            return 0, ()
        if state not in self.known:
            function = self.program.functions[begin]
            if function.is_dynamic:
                name = self.program.readable[begin]
                self.faults.add(f"a frame of a size that is not constant: {name}")
            self.open.append(state)
            paths = [self.deepest(callee, entered) for callee in self.callees(begin)]
            size, path = max(paths, default=(0, ()))
            self.open.pop()
            self.known[state] = function.frame + size, (begin, *path)
        return self.known[state]


def main(arguments):
    show_path = arguments[0] == "--path"
    path, *folders = arguments[show_path:]
    program = Program(path)
    calls = Calls()
    stack = Stack(program, calls)
    size, path = stack.deepest(program.address["SottoReset"])
    handler_size, handler_path = max(stack.deepest(program.address[name]) for name in HANDLERS)
    bound = size + program.exception_frame + handler_size
    if bound > program.reserved():
        stack.faults.add("more than is reserved")
    for name in program.stored_in(folders):
        if not calls.knows(name):
            stack.faults.add(f"stored, and called by nobody known: {name}")
    for begin in (path + handler_path) * show_path:
        print(f"{program.functions[begin].frame:6} {program.readable[begin]}")
    print(bound, "of", program.reserved())
    for fault in sorted(stack.faults):
        print(fault, file=sys.stderr)
    return 1 if stack.faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
