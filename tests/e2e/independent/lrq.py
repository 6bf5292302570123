"""Keys and the encoded update (sections 5 to 7 of server/PROTOCOL.md), in exact integers."""
import fractions
import hashlib
import hmac
import itertools
import math
import pathlib
import re
import struct

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

ROOT = pathlib.Path(__file__).resolve().parents[3]


def hkdf(secret, salt, info):
    """32 bytes of HKDF-SHA256: one block."""
    key = hmac.digest(salt or bytes(32), secret, "sha256")
    return hmac.digest(key, info + b"\x01", "sha256")


def psk_of(secret):
    return hkdf(secret, b"", b"sotto psk")


def round_key(secret, device, task, nonce):
    place = struct.pack("<II", task["round"], task["attempt"])
    return hkdf(secret, task["job"], b"sotto lrq 1" + device + place + nonce)


def model_digest(inputs, outputs):
    return hashlib.sha256(struct.pack("<5I", 1, 1, 1, inputs, outputs)).digest()


def read_tables():
    """kLog2Pieces, kLayerPieces[upper][index] = (r piece, g piece); a piece is (c0, ..., c6)."""
    text = (ROOT / "sdk/src/lrq/layer_tables.inc").read_text()

    def pieces(name):
        body = re.search(rf"\b{name}\[.*?=(.*?);", text, re.DOTALL).group(1)
        numbers = [int(number) for number in re.findall(r"-?\d+", body)]
        return [tuple(numbers[i:i + 7]) for i in range(0, len(numbers), 7)]

    layer = pieces("kLayerPieces")
    pairs = list(zip(layer[0::2], layer[1::2]))
    return pieces("kLog2Pieces"), (pairs[:53], pairs[53:])


LOG2_PIECES, LAYER_PIECES = read_tables()


def evaluate(piece, t, shift):
    a = piece[6]
    for i in (5, 4, 3, 2, 1):
        a = piece[i] + ((a * t) >> 32)
    return piece[0] + ((a * t) >> shift)


def fraction(m):
    return (m >> 28) % 2**32 - 2**31


def layer(p96):
    upper = int(p96 >= 2**95)
    q = 2**96 - 1 - p96 if upper else p96
    y = 2 * q + 1
    z = 96 - y.bit_length()
    m = (y << z) >> 32
    u = max((z + 2) * 2**56 - evaluate(LOG2_PIECES[(m >> 60) % 8], fraction(m), 9), 2**56)
    octave = u.bit_length() - 57
    m = u << (7 - octave)
    r, g = LAYER_PIECES[upper][8 * octave + (m >> 60) % 8]
    return evaluate(r, fraction(m), 4) >> 32, evaluate(g, fraction(m), 4) >> 32


def words(key, n, count):
    """Keystream n as 64-bit words (6.2)."""
    nonce = struct.pack("<IIQ", 0, n, 0)  # block counter, then RFC 8439's nonce
    stream = Cipher(ChaCha20(key, nonce), mode=None).encryptor().update(bytes(8 * count))
    return struct.unpack(f"<{count}Q", stream)


def cell(word0, word1, word2, dither):
    """(w, L, s) of one coordinate (6.3)."""
    coin, p, t = word0 >> 63, (word0 >> 27) % 2**36, word0 % 2**27
    width, left = 2**25, -2**24
    if dither == 1:
        x = word1 >> 4 if p >> 28 in (0, 255) else 2**59
        r, g = layer(p << 60 | x)
        width, left = r + g, -g if coin else -r
    t59 = t << 32 | word2 % 2**32
    return width, left, width * t59 >> 59


def cells(key, count, dither):
    streams = [words(key, n, count) for n in (0, 1, 2)]
    return [cell(*triple, dither) for triple in zip(*streams)]


def quantize(v, cell_of_v):
    width, _, shift = cell_of_v
    return (128 * v + width - shift) // width


def dequantize(m, cell_of_m):
    width, left, shift = cell_of_m
    return (m * width + shift + left + 63) >> 7


def scaled(update, task):
    """The update in Q20 of the unit, of a norm that is never above the clip (6.1)."""
    if not all(map(math.isfinite, update)):
        raise ValueError("the update is not finite")
    unit, clip = fractions.Fraction(task["unit"]), fractions.Fraction(task["clip_l2"])
    v = [int(fractions.Fraction(x) / unit * 2**20) for x in update]
    bound = int((clip / unit * 2**20)**2)
    square = sum(x * x for x in v)
    if square > bound:
        clip_q20, norm = math.isqrt(bound), math.isqrt(square) + 1
        v = [abs(x) * clip_q20 // norm * (1 if x > 0 else -1) for x in v]
    return v


def scale_limit(h):
    """A(h) (6.6)."""
    octave, i = divmod(h - 1, 4)
    return (1073741824, 1276901416, 1518500249, 1805811301)[i] >> (30 - octave) if h else 0


def code_bits(limit, dither):
    width = 316058594 if dither == 1 else 2**25
    return next(b for b in itertools.count() if (2**b - 1) * width >= 256 * limit)


def encode_update(update, task, key):
    if task["coding"] == 2:
        # A little less than the clip: rounding to float32 must not bring the norm above it.
        norm = math.sqrt(sum(x * x for x in update))
        factor = min(1, task["clip_l2"] * (1 - 2**-20) / norm) if norm else 1
        return struct.pack(f"<{len(update)}f", *(x * factor for x in update))
    v = scaled(update, task)
    largest = max(map(abs, v))
    h = next(h for h in range(122) if scale_limit(h) >= largest)
    limit = scale_limit(h)
    bits = code_bits(limit, task["dither"])
    packed = 0
    for j, (x, place) in enumerate(zip(v, cells(key, len(v), task["dither"]))):
        packed |= quantize(x, place) - quantize(-limit, place) << bits * j
    return bytes([h]) + packed.to_bytes((len(v) * bits + 7) // 8, "little")


def decode_update(update, count, task, key):
    """The update and its noise in model units, as the server adds it up (6.5). For coding 1."""
    limit = scale_limit(update[0])
    bits = code_bits(limit, task["dither"])
    packed = int.from_bytes(update[1:], "little")
    noisy = []
    for place in cells(key, count, task["dither"]):
        code = packed & 2**bits - 1
        packed >>= bits
        noisy.append(dequantize(quantize(-limit, place) + code, place) * task["unit"] / 2**20)
    return noisy
