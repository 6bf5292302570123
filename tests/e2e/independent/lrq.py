"""Keys (section 5 of server/PROTOCOL.md) and the quantizer (sdk/LRQ.md), in exact integers.

Numbers in parentheses are sections of LRQ.md.
"""
import collections
import fractions
import hashlib
import hmac
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


def round_key(secret, device, task, nonce, salt=b""):
    place = struct.pack("<II", task["round"], task["attempt"])
    label = b"sotto lrq 2" if salt else b"sotto lrq 1"
    return hkdf(secret, task["job"], label + device + place + nonce + salt)


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


def rounded_down(product):
    return product >> 32


def evaluate(piece, t, shift, rounded):
    a = piece[6]
    for i in (5, 4, 3, 2, 1):
        a = piece[i] + rounded(a * t)
    return piece[0] + ((a * t) >> shift)


def fraction(m):
    return (m >> 28) % 2**32 - 2**31


def layer(p96, rounded=rounded_down):
    """r and g (5); with another rounding of the inner products, if one asks for that."""
    upper = int(p96 >= 2**95)
    q = 2**96 - 1 - p96 if upper else p96
    y = 2 * q + 1
    z = 96 - y.bit_length()
    m = (y << z) >> 32
    u = max((z + 2) * 2**56 - evaluate(LOG2_PIECES[(m >> 60) % 8], fraction(m), 9, rounded), 2**56)
    octave = u.bit_length() - 57
    m = u << (7 - octave)
    r, g = LAYER_PIECES[upper][8 * octave + (m >> 60) % 8]
    r, g = (evaluate(piece, fraction(m), 4, rounded) for piece in (r, g))
    return r >> 32, g >> 32


def words(key, n, count):
    """Keystream n as 64-bit words (3)."""
    nonce = struct.pack("<IIQ", 0, n, 0)  # block counter, then RFC 8439's nonce
    stream = Cipher(ChaCha20(key, nonce), mode=None).encryptor().update(bytes(8 * count))
    return struct.unpack(f"<{count}Q", stream)


Cell = collections.namedtuple("Cell", "width left shift t")  # w, L, s and t of 27 bits


def layer_of(word0, word1):
    """p96 (4)."""
    p = (word0 >> 27) % 2**36
    return p << 60 | (word1 >> 4 if p >> 28 in (0, 255) else 2**59)


def cell(word0, word1, word2, dither):
    """The cell of one coordinate (4)."""
    coin, t = word0 >> 63, word0 % 2**27
    width, left = 2**25, -2**24
    if dither == 1:
        r, g = layer(layer_of(word0, word1))
        width, left = r + g, -g if coin else -r
    t59 = t << 32 | word2 % 2**32
    return Cell(width, left, width * t59 >> 59, t)


def cells(key, count, dither):
    streams = [words(key, n, count) for n in (0, 1, 2)]
    return [cell(*triple, dither) for triple in zip(*streams)]


def quantize(v, place):
    """m (6)."""
    return (128 * v + place.width - place.shift) // place.width


def dequantize(m, place):
    """v and the noise, Q20 (6)."""
    return (m * place.width + place.shift + place.left + 63) >> 7


def scaled(update, task):
    """The update in Q20 of the quantizer's scale, of a norm that is never above the clip (2)."""
    if not all(map(math.isfinite, update)):
        raise ValueError("the update is not finite")
    scale = fractions.Fraction(task["quantizer_scale"])
    clip = fractions.Fraction(task["clip_l2"])
    v = [int(fractions.Fraction(x) / scale * 2**20) for x in update]
    bound = int((clip / scale * 2**20)**2)
    square = sum(x * x for x in v)
    if square > bound:
        clip_q20, norm = math.isqrt(bound), math.isqrt(square) + 1
        v = [abs(x) * clip_q20 // norm * (1 if x > 0 else -1) for x in v]
    return v
