"""A model on a grid (section 7.1 of server/PROTOCOL.md): differences and checks."""
import hashlib
import math
import struct

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from independent import codes

HELD, INITIAL, ZEROS = 0, 1, 2
MOST_STEPS = 2**24
MOST_DIGITS = 31


def floats(data):
    return [x for x, in struct.iter_unpack("<f", data)]


def as_bytes(values):
    return struct.pack(f"<{len(values)}f", *values)


def check_of(model):
    """Of a model as bytes; no model has none."""
    return hashlib.sha256(model).digest()[:8] if model else b""


def steps(value, exponent):
    """floor(value 2^-exponent + 1/2): both terms and their sum are exact in a double, or below 1/2."""
    return max(-2**30, min(2**30, math.floor(value * 2.0**-exponent + 0.5)))


def integer(coder, more, value=0):
    """Codes an integer. With a RangeReader it is what this returns."""
    size, digits = abs(value).bit_length(), 0
    while digits < MOST_DIGITS and coder.decide(more[digits], digits < size):
        digits += 1
    if not digits:
        return 0
    magnitude = 1
    for i in reversed(range(digits - 1)):
        magnitude = 2 * magnitude + coder.decide(None, abs(value) >> i & 1)
    return -magnitude if coder.decide(None, value < 0) else magnitude


def rounded(value):
    """To float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def feeds_rectifier(layers, i):
    behind = [kind for kind, *_ in layers[i + 1:] if kind not in ("flatten", "pool")]
    return behind[:1] == ["relu"]


def sizes(kind, numbers):
    """Weights, biases, fan_in and fan_out of a layer, and where its ones are."""
    if kind == "dense":
        inputs, outputs = numbers
        return inputs * outputs, outputs, inputs, outputs, range(0)
    if kind == "conv":
        window, channels, outputs = numbers
        return outputs * window * channels, outputs, window * channels, outputs * window, range(0)
    if kind == "embedding":
        vocabulary, width = numbers
        return vocabulary * width, 0, width, vocabulary, range(0)
    if kind == "lstm":
        channels, units = numbers
        weights = 4 * units * (channels + units)
        return weights, 8 * units, channels + units, 4 * units, range(weights + units,
                                                                      weights + 2 * units)
    return 0, 0, 0, 0, range(0)


def initial(layers, key):
    """The initial model of a net of layers (kind, numbers...), by section 7.2, as floats."""
    parameters = []
    for i, (kind, *numbers) in enumerate(layers):
        weights, biases, fan_in, fan_out, ones = sizes(kind, numbers)
        if not weights:
            continue
        nonce = struct.pack("<4I", 0, i, 0, 0)  # first the counter of blocks
        stream = Cipher(ChaCha20(key, nonce), mode=None).encryptor().update(bytes(4 * weights))
        fan = fan_in + (0 if feeds_rectifier(layers, i) else fan_out)
        bound = rounded(math.sqrt(rounded(6 / fan)))
        layer = [rounded(bound * ((word >> 8) - 2**23) * 2.0**-23)
                 for word, in struct.iter_unpack("<I", stream)] + [0.0] * biases
        for j in ones:
            layer[j] = 1.0
        parameters += layer
    return parameters


def estimates():
    return [codes.Estimate() for _ in range(MOST_DIGITS)]


def encode(base, model, exponent):
    """The code of the model, a list of floats, from the base, another one."""
    coder, more = codes.RangeWriter(), estimates()
    differences = [steps(x, exponent) - steps(w, exponent) for x, w in zip(model, base)]
    for difference in differences:
        integer(coder, more, difference)
    return coder.finish() if any(differences) else b""


def decode(code, base, exponent):
    """The model as bytes. ValueError: no server sends this."""
    if not code:
        return as_bytes([steps(w, exponent) * 2.0**exponent for w in base])
    coder, more, model = codes.RangeReader(code), estimates(), []
    for w in base:
        n = steps(w, exponent) + integer(coder, more)
        if abs(n) > MOST_STEPS:
            raise ValueError("a parameter is beyond the grid")
        model.append(n * 2.0**exponent)
    if any(code[coder.used:]):
        raise ValueError("bytes follow the code")
    return as_bytes(model)


class Download:
    """One model, as it is offered."""

    def __init__(self, offer, size, held):
        """An offer without a check, {}: float32. `size` bytes of a model; `held`, b"": none."""
        self.offer, self.data = offer, b""
        grid = offer.get("grid", 0)
        self.is_difference, self.exponent = bool(grid), grid - 21
        self.total = offer["size"] if grid else size
        self.base = [0.0] * (size // 4)  # the initial model of one dense layer, too
        if grid and offer["base"] == HELD:
            if not held:
                raise ValueError("a difference from a model that this device does not hold")
            self.base = floats(held)

    def request(self):
        fields = {"offset": len(self.data)}
        return fields | {"code": self.offer["code"]} if self.is_difference else fields

    def take(self, data):
        room = self.total - len(self.data)
        if not 1 <= len(data) <= room or (not self.is_difference and len(data) % 4):
            raise ValueError(f"a chunk of {len(data)} bytes")
        self.data += data

    def is_whole(self):
        return len(self.data) == self.total

    def model(self):
        """As bytes. ValueError: it is not the one that was offered."""
        model = self.data
        if self.is_difference:
            model = decode(self.data, self.base, self.exponent)
        if self.offer.get("check", b"") not in (b"", check_of(model)):
            raise ValueError("the model is not the one that was offered")
        return model
