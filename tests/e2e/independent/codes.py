"""An encoded update (section 7 of sdk/LRQ.md): scale, fixed-length code, range code, padding."""
import itertools
import re

from independent import lrq

GAUSSIAN = 1
FIXED, FLOAT32, RANGE = 1, 2, 3
LARGEST = 2**30  # of |v|


def scale(h):
    """A(h) (7.1)."""
    octave, i = divmod(h - 1, 4)
    return (1073741824, 1276901416, 1518500249, 1805811301)[i] >> (30 - octave) if h else 0


def scale_code(task, v):
    """The smallest h for the largest |v| or, under the range code, for the root mean square."""
    if task["coding"] == FIXED:
        return next(h for h in range(122) if scale(h) >= max(map(abs, v)))
    squares = sum(x * x for x in v)
    return next(h for h in range(122) if len(v) * scale(h)**2 >= squares)


def padded(size, task):
    """The length for a header and code of this size; the size, if it is above the one length (7.5)."""
    padding = task["padding"]
    if task.get("length"):
        return max(size, task["length"])
    return -(-size // padding) * padding if padding else size


def fixed_bits(limit, dither):
    """b (7.2)."""
    width = 316058594 if dither == GAUSSIAN else 2**25
    return next(b for b in itertools.count() if (2**b - 1) * width >= 256 * limit)


def encode_fixed(v, cells, limit, dither):
    bits = fixed_bits(limit, dither)
    packed = 0
    for j, (x, cell) in enumerate(zip(v, cells)):
        packed |= lrq.quantize(x, cell) - lrq.quantize(-limit, cell) << bits * j
    return packed.to_bytes((len(v) * bits + 7) // 8, "little")


def decode_fixed(code, cells, limit, dither):
    """The integers and how many bytes their code has."""
    bits = fixed_bits(limit, dither)
    size = (len(cells) * bits + 7) // 8
    packed = int.from_bytes(code[:size], "little")
    if len(code) < size or packed >> bits * len(cells):
        raise ValueError("the code is cut off, or its last byte is not filled up with 0")
    fields = [packed >> bits * j & 2**bits - 1 for j in range(len(cells))]
    return [lrq.quantize(-limit, cell) + x for cell, x in zip(cells, fields)], size


def read_beyond():
    """B of 7.4, from the page itself."""
    text = (lrq.ROOT / "sdk/LRQ.md").read_text()
    return [int(x) for x in re.search(r"\n    B = ([\d,\s]+)\n\n", text).group(1).split(",")]


BEYOND = read_beyond()


def beyond(x):
    return BEYOND[max(-16, min(12, x)) + 16]


class Estimate:
    """The probability of a one, which learns (7.3)."""

    def __init__(self, part=1, whole=2, weight=8):
        self.p = part * 2**16 // whole * 2**16 if part < whole else 2**32 - 1
        self.weight, self.learns = weight, True

    def learn(self, bit):
        shift = self.weight.bit_length() - 1 if self.learns else 31
        self.p += 2**32 - 1 - self.p >> shift if bit else -(self.p >> shift)
        self.weight = min(self.weight + 1, 1024)


def share_of_one(width, estimate):
    return (width >> 16) * max(1, estimate.p >> 16) if estimate else width >> 1


class RangeWriter:
    """Takes decisions. `low` has no limit, so there are no carries to propagate."""

    def __init__(self):
        self.low, self.width, self.shifts = 0, 2**32 - 1, 0

    def decide(self, estimate, bit):
        """`estimate` None: both outcomes are equally likely."""
        share = share_of_one(self.width, estimate)
        if bit:
            self.width = share
        else:
            self.low += share
            self.width -= share
        if estimate:
            estimate.learn(bit)
        while self.width < 2**24:
            self.low, self.width, self.shifts = self.low << 8, self.width << 8, self.shifts + 1
        return bool(bit)

    def finish(self):
        ends = (-(-self.low >> z) << z for z in range(32, -1, -1))
        end = next(x for x in ends if x < self.low + self.width)
        return end.to_bytes(4 + self.shifts, "big").rstrip(b"\0")


class RangeReader:
    """Gives the decisions back. `used` counts bytes read, also those beyond the end."""

    def __init__(self, code):
        self.code, self.used = code, 4
        self.value, self.width = int.from_bytes(code[:4].ljust(4, b"\0"), "big"), 2**32 - 1
        if self.value == self.width:
            raise ValueError("no range code begins like that")

    def decide(self, estimate, _):
        share = share_of_one(self.width, estimate)
        bit = self.value < share
        if bit:
            self.width = share
        else:
            self.value -= share
            self.width -= share
        if estimate:
            estimate.learn(bit)
        while self.width < 2**24:
            byte = self.code[self.used] if self.used < len(self.code) else 0
            self.value, self.width = self.value << 8 | byte, self.width << 8
            self.used += 1
        return bit


def distance_class(t):
    """i of 7.4: how near zero is to an edge."""
    distance = 2 * min(t, 2**27 - 1 - t) + 1
    size = distance.bit_length()
    return min(31, 2 * (27 - size) + (4 * distance < 3 * 2**size))


class Model:
    """The decisions that make up an integer, with their estimates (7.4)."""

    def __init__(self, h, dither, learns=True):
        e = (87 if dither == GAUSSIAN else 73) - h
        near = [beyond(e - 5 - 2 * i) for i in range(32)]
        far = [beyond(e + (-3, -2, -1, -1, -1, 0)[min(i, 5)]) for i in range(32)]
        steps = [beyond(e + x) for x in (-4, 0, 4, 6, 8, 9, 10, 11, 12)]
        self.nonzero = [Estimate(n + f, 2**16, 32) for n, f in zip(near, far)]
        self.far = [Estimate(f, n + f) for n, f in zip(near, far)]
        self.more = [[Estimate(more, less + more // 64) if learns or less > 1 else Estimate(1, 32)
                      for less, more in zip(steps, steps[1:])]
                     for _ in range(2)]
        self.longer = [Estimate() for _ in range(12)]
        for estimate in itertools.chain(self.nonzero, self.far, *self.more, self.longer):
            estimate.learns = learns

    def integer(self, coder, t, m=0):
        """Codes m in a cell of dither t. With a RangeReader m is what it returns."""
        above, i = t >= 2**26, distance_class(t)
        if not coder.decide(self.nonzero[i], m != 0):
            return 0
        far = coder.decide(self.far[i], (m < 0) != above)
        magnitude = 1
        while magnitude < 9 and coder.decide(self.more[far][magnitude - 1], abs(m) > magnitude):
            magnitude += 1
        if magnitude == 9:
            magnitude = 8 + self.escape(coder, abs(m) - 8)
        return -magnitude if far != above else magnitude

    def escape(self, coder, excess):
        length, digits = 0, 1
        while length < 12 and coder.decide(self.longer[length], excess >> length + 1):
            length += 1
        for i in reversed(range(length)):
            digits = 2 * digits + coder.decide(None, excess >> i & 1)
        return digits


def encode_range(v, cells, h, dither, learns=True):
    coder, model = RangeWriter(), Model(h, dither, learns)
    for x, cell in zip(v, cells):
        model.integer(coder, cell.t, lrq.quantize(x, cell))
    return coder.finish()


def decode_range(code, cells, h, dither, learns=True):
    """The integers and the most bytes that their code can have."""
    coder, model = RangeReader(code), Model(h, dither, learns)
    integers = []
    for cell in cells:
        m = model.integer(coder, cell.t)
        if not lrq.quantize(-LARGEST, cell) <= m <= lrq.quantize(LARGEST, cell):
            raise ValueError(f"{m} is out of range")
        integers.append(m)
    return integers, coder.used


def encode(v, task, key):
    """The update's bytes, from its values in Q20. For coding 1 and 3. They may be too long."""
    h, dither = scale_code(task, v), task["dither"]
    data = bytes([h])
    if h:
        cells = lrq.cells(key, len(v), dither)
        is_range = task["coding"] == RANGE
        learns = not task.get("length")
        data += (encode_range(v, cells, h, dither, learns) if is_range else
                 encode_fixed(v, cells, scale(h), dither))
    return data.ljust(padded(len(data), task), b"\0")


def decode(data, count, task, key):
    """The update and its noise in Q20, as the server adds it up. ValueError: refused (7.6)."""
    h, code, dither = data[0], data[1:], task["dither"]
    if h > 121:
        raise ValueError("there is no such scale")
    cells = lrq.cells(key, count, dither)
    if task["coding"] == FIXED:
        integers, used = decode_fixed(code, cells, scale(h), dither)
    elif h:
        integers, used = decode_range(code, cells, h, dither, not task.get("length"))
    else:
        integers, used = [lrq.quantize(0, cell) for cell in cells], 4
    if any(code[used:]) or not padded(len(data), task) == len(data) <= padded(1 + used, task):
        raise ValueError("the code does not end with its padding")
    return [lrq.dequantize(m, cell) for m, cell in zip(integers, cells)]
