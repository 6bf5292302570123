"""Recomputes section 8 of server/PROTOCOL.md, tests/vectors/layers.csv and B of sdk/LRQ.md."""
import fractions
import math
import random
import re
import struct
import sys

from independent import codes
from independent import lrq
from independent import messages
from independent import models


class Job:
    """A job of the example: its task, and what the server decodes; None: the update as it is."""

    def __init__(self, task, noisy):
        self.task, self.noisy = task, noisy

    def integers(self, update):
        """What the device encodes: the update's coordinates, and whether it was clipped."""
        clip_bit = self.task["clip_bit"]
        return lrq.scaled(update, self.task) + ([-clip_bit] if clip_bit else [])

    def encode(self, update, key):
        if self.noisy is None:
            return struct.pack(f"<{len(update)}f", *update)
        return codes.encode(self.integers(update), self.task, key)


class Page:
    """Section 8 of server/PROTOCOL.md, taken apart."""

    def __init__(self):
        text = (lrq.ROOT / "server/PROTOCOL.md").read_text().split("\n## 8. Example\n")[1]
        blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
        self.values = self.pairs(blocks[0])
        self.inputs = self.pairs(blocks[2])
        self.words = [line.split()[1:] for line in blocks[3].splitlines()[1:]]
        self.layers = [line.split()[1:] for line in blocks[4].splitlines()[1:]]
        self.rows = [[int(x) for x in line.split()] for line in blocks[5].splitlines()[1:]]
        self.fixed = self.pairs(blocks[6])
        self.decisions = [line.split() for line in blocks[8].splitlines()[1:]]
        self.range = self.pairs(blocks[9])
        self.salted = self.pairs(next(block for block in blocks if block.startswith("salt ")))
        self.steps = [line.split() for line in next(
            block for block in blocks if block.startswith("j     n ")).splitlines()[1:]]
        self.difference = self.pairs(next(block for block in blocks if block.startswith("held ")))
        self.exponent, = (int(x) for x in re.findall(r"as a difference, e = (-\d+)", text))
        self.frames = {}
        for mark, name, data in re.findall(r"^([<>]) (\w+) +([0-9a-f\s]+)", text, re.MULTILINE):
            self.frames.setdefault(mark + name, []).append(bytes.fromhex(data))
        self.model = self.numbers(text, r"at present (.*?)\.\s")
        self.update = self.numbers(text, r"its update is (.*?), whose")
        self.task = self.read_task(re.search(r"The task: (.*?)\.\s", text, re.DOTALL).group(1))
        padding, = re.findall(r"with a padding of (\d+)", text)
        self.range_task = self.task | {"coding": codes.RANGE, "padding": int(padding)}
        self.jobs = self.read_jobs(text)

    def read_jobs(self, text):
        """The example's jobs in its order: what is other than in the first task."""
        clip_bit, = re.findall(r"a `clip_bit` of 2\^(\d+)", text)
        length, = re.findall(r"a `length` of (\d+)", text)
        report_ms, = re.findall(r"a `report_ms` of (\d+)", text)
        of_clip_bit, of_uniform = ([int(x) for x in line.split()]
                                   for line in re.findall(r"^noisy (.*)$", text, re.MULTILINE))
        noisy = [row[8] for row in self.rows]
        return [Job(self.task, noisy), Job(self.range_task, noisy),
                Job(self.task | {"clip_bit": 2**int(clip_bit)}, of_clip_bit),
                Job(self.task | {"dither": 2}, of_uniform),
                Job(self.task | {"coding": codes.FLOAT32, "dither": 2}, None),
                Job(self.task | {"coding": codes.RANGE, "length": int(length),
                                 "report_ms": int(report_ms)}, noisy)]

    def read_task(self, text):
        task = {"job": bytes.fromhex(self.values["job id"]), "round": int(self.values["round"]),
                "attempt": int(self.values["attempt"])}
        kinds = dict(messages.MESSAGES["Train"].values())
        for name, number in re.findall(r"(\w+) (-?[\d.]*\d)", text):
            task[name] = float32(number) if kinds[name] is float else int(number)
        return task

    def offer(self, size):
        """The model of the example, as a difference of so many bytes from the one that is held."""
        return {"check": bytes.fromhex(self.difference["check"]), "grid": 21 + self.exponent,
                "base": models.HELD, "weights_key": b"", "size": size, "code": 0x01020304}

    @staticmethod
    def pairs(block):
        return dict(re.split(r"  +", line) for line in block.splitlines())

    @staticmethod
    def numbers(text, pattern):
        listed = re.search(pattern, text, re.DOTALL).group(1)
        return [float32(x) for x in re.split(r",\s+|\s+and\s+", listed)]


def float32(text):
    return struct.unpack("f", struct.pack("f", float(text)))[0]


claims = 0


def claim(what, computed, written):
    """Ends the program if the two differ."""
    global claims
    claims += 1
    if computed != written:
        sys.exit(f"check failed: {what}: {computed} is computed, {written} is written")


def check_inputs(page):
    """The float32 of the example, bit for bit."""
    numbers = {"model": page.model, "update": page.update, "scale": [page.task["quantizer_scale"]],
               "clip_l2": [page.task["clip_l2"]], "rate": [page.task["learning_rate"]]}
    claim("inputs", {name: struct.pack(f"<{len(x)}f", *x).hex() for name, x in numbers.items()},
          page.inputs)


def check_replies(page, key):
    """Decodes the page's replies, compares them and encodes them again."""
    sizes = [len(job.encode(page.update, key)) for job in page.jobs]
    replies = {
        "Train": [job.task | {"receipt": b"", "model": {}, "server_features": 0}
                  for job in page.jobs]
                 + [page.task | {"receipt": b"", "model": page.offer(512), "server_features": 1}],
        "Chunk": [{"bytes": struct.pack(f"<{len(page.model)}f", *page.model)},
                  {"bytes": bytes.fromhex(page.difference["code"]).ljust(12, b"\0")}],
        "Ack": [ack for size in sizes
                for ack in ({"offset": 0, "complete": 0, "salt": b""},
                            {"offset": size, "complete": 1, "salt": b""})]
               + [{"offset": 0, "complete": 0, "salt": bytes.fromhex(page.salted["salt"])}],
        "Wait": [{"wait_ms": 1000, "state": 0, "server_features": 0, "release": 0}],
        "Release": [{"model": page.offer(0) | {"code": 0}, "job": page.task["job"], "rounds": 2,
                     "final": 1, "claims": b"none"}],
        "Error": [{"code": 8, "final": 0, "retry_after_ms": 1000, "model": b""},
                  {"code": 2, "final": 1, "retry_after_ms": 0, "model": b"lenet"}],
        "Done": [{}],
    }
    for name, expected in replies.items():
        frames = page.frames["<" + name]
        claim(f"number of {name}", len(frames), len(expected))
        for data, fields in zip(frames, expected):
            claim(f"{name} decoded", messages.decode("Reply", data[2:]), {name.lower(): fields})
            claim(f"{name} encoded", messages.frame("Reply", {name.lower(): fields}), data)


def check_cells(page, key):
    """Words, layers, cells and integers."""
    count = len(page.update)
    streams = [lrq.words(key, n, count) for n in (0, 1, 2)]
    triples = list(zip(*streams))
    claim("words", [[f"{word:016x}" for word in row] for row in triples], page.words)
    p96 = [lrq.layer_of(*row[:2]) for row in triples]
    claim("layers", [[f"{p:024x}", *map(str, lrq.layer(p))] for p in p96], page.layers)
    v, limit = lrq.scaled(page.update, page.task), int(page.fixed["A"])
    cells = lrq.cells(key, count, page.task["dither"])
    rows = []
    for j, cell in enumerate(cells):
        m, m_min = lrq.quantize(v[j], cell), lrq.quantize(-limit, cell)
        rows.append([j, *cell[:3], v[j], m, m_min, m - m_min, lrq.dequantize(m, cell)])
    claim("cells and codes", rows, page.rows)
    extended = [j for j, word in enumerate(streams[0]) if (word >> 55) % 256 in (0, 255)]
    claim("extended coordinates", extended, [0, 4])
    without = [lrq.dequantize(row[5], lrq.cell(*words[:2], 0, page.task["dither"]))
               for row, words in zip(rows, triples)]
    claim("n = 2 matters to coordinate 5", without[5] != rows[5][8], True)
    for rounded in (lambda x: (x + 2**31) >> 32, lambda x: int(fractions.Fraction(x, 2**32))):
        claim("rounding matters to coordinate 1",
              lrq.layer(p96[1], rounded) != lrq.layer(p96[1]), True)


class Recorder(codes.RangeWriter):
    """Notes the decisions of a coordinate."""

    decisions = ""

    def decide(self, estimate, bit):
        self.decisions += str(int(bool(bit)))
        return super().decide(estimate, bit)


def check_decisions(page, key):
    """What the range code decides in each coordinate, and the interval then."""
    model, coder = codes.Model(int(page.range["scale code"]), page.task["dither"]), Recorder()
    rows = []
    for cell, row in zip(lrq.cells(key, len(page.update), page.task["dither"]), page.rows):
        coder.decisions = ""
        model.integer(coder, cell.t, row[5])
        rows.append([str(row[0]), str(cell.t), str(codes.distance_class(cell.t)), coder.decisions,
                     f"{coder.low:x}", f"{coder.width:x}"])
    claim("decisions", rows, page.decisions)


def check_codes(page, key):
    """What each job's device sends, and what the server decodes."""
    limit = codes.scale(int(page.fixed["scale code"]))
    claim("A", limit, int(page.fixed["A"]))
    claim("bits", codes.fixed_bits(limit, page.task["dither"]), int(page.fixed["bits"]))
    for job, part in zip(page.jobs, (page.fixed, page.range)):
        update = job.encode(page.update, key)
        claim("scale code", update[0], int(part["scale code"]))
        claim("update", update.hex(), part["update"])
    for job in page.jobs:
        if job.noisy is None:
            continue
        update, count = job.encode(page.update, key), len(job.integers(page.update))
        claim("update decoded", codes.decode(update, count, job.task, key), job.noisy)


def check_difference(page):
    """The example's code of a difference, decision by decision, and random ones there and back."""
    held = bytes.fromhex(page.difference["held"])
    coder, more, rows = Recorder(), models.estimates(), []
    for j, (x, w) in enumerate(zip(page.model, models.floats(held))):
        n, base = models.steps(x, page.exponent), models.steps(w, page.exponent)
        coder.decisions = ""
        models.integer(coder, more, n - base)
        low = coder.low.to_bytes(4 + coder.shifts, "big").hex()
        rows.append([str(j), str(n), str(base), str(n - base), coder.decisions, low,
                     f"{coder.width:08x}"])
    written = [[*row[:4], "".join(row[4:-2]), *row[-2:]] for row in page.steps]
    claim("decisions of the difference", rows, written)
    claim("its code", coder.finish().hex(), page.difference["code"])
    claim("the held model's check", models.check_of(held).hex(), page.difference["its check"])
    model = models.decode(coder.finish(), models.floats(held), page.exponent)
    claim("the model", models.floats(model), page.model)
    claim("its check", models.check_of(model).hex(), page.difference["check"])
    numbers = random.Random(8)
    for exponent in (-20, -9, 0):
        for spread in (0.3, 5, 1e5):
            held, wanted = ([numbers.gauss(0, spread) * 2.0**exponent for _ in range(200)]
                            for _ in range(2))
            wanted = [models.steps(x, exponent) * 2.0**exponent for x in wanted]
            code = models.encode(held, wanted, exponent) + bytes(numbers.choice((0, 512)))
            claim("a difference there and back",
                  models.floats(models.decode(code, held, exponent)), wanted)


def check_beyond():
    """B of LRQ.md is what the page says that it is."""
    for x, written in zip(range(-16, 13), codes.BEYOND):
        at = 2**(x / 4)
        normal, laplace = math.erfc(at / math.sqrt(2)) / 2, math.exp(-at * math.sqrt(2)) / 2
        claim(f"B({x}) is within 1", abs((normal + laplace) / 2 * 2**16 - written) < 1, True)


def is_refused(data, count, task, key):
    try:
        codes.decode(data, count, task, key)
    except ValueError:
        return True
    return False


def check_round_trips():
    """Made-up updates of many sizes come back as their integers say, and nothing longer does."""
    numbers = random.Random(7)
    for dither in (1, 2):
        for exponent in (0, 10, 16, 20, 24, 30):
            key, count = numbers.randbytes(32), numbers.randint(1, 300)
            v = [int(numbers.uniform(-1, 1)**3 * 2**exponent) for _ in range(count)]
            cells = lrq.cells(key, count, dither)
            noisy = [lrq.dequantize(lrq.quantize(x, cell), cell) for x, cell in zip(v, cells)]
            for coding in (codes.FIXED, codes.RANGE):
                task = {"dither": dither, "coding": coding, "padding": numbers.choice((0, 1, 64)),
                        "length": numbers.choice((0, 2000))}
                what = f"coding {coding}, dither {dither}, values up to 2^{exponent}"
                data = codes.encode(v, task, key)
                claim(what, codes.decode(data, count, task, key), noisy)
                longer = data + bytes(7 + task["padding"])
                claim(f"{what}, too long", is_refused(longer, count, task, key), True)


def check_layers():
    lines = (lrq.ROOT / "tests/vectors/layers.csv").read_text().splitlines()
    vectors = [line.split(",") for line in lines if not line.startswith("#")]
    claim("columns of layers.csv", vectors[0], ["p96", "r", "g"])
    for p96, *exact in vectors[1:]:
        errors = [abs(computed - fractions.Fraction(x) * 2**27)
                  for computed, x in zip(lrq.layer(int(p96, 16)), exact)]
        claim(f"layer of {p96} is within 0.6 * 2^-27", max(errors) <= 0.6, True)


def check_requests(page, device, nonce, key):
    names = "job", "round", "attempt", "coding", "clip_bit"
    begins = [{name: job.task[name] for name in names} | {"nonce": nonce} for job in page.jobs]
    hello = {"version": 1, "device": device, "max_frame": 1024,
             "model_digest": bytes.fromhex(page.values["model digest"])}
    held, check = (bytes.fromhex(page.difference[name]) for name in ("its check", "check"))
    requests = {
        "Hello": ("hello", [hello, hello | {"features": 4096, "held": held},
                            {"hold_ms": 25000, "held": check}]),
        "GetModel": ("get_model", [{"offset": 0}, {"code": 0x01020304}]),
        "GetRelease": ("get_release", [{"held": check}]),
        "UpdateBegin": ("update_begin", begins),
        "UpdateChunk": ("update_chunk", [{"offset": 0, "bytes": job.encode(page.update, key),
                                          "last": 1} for job in page.jobs]),
    }
    for name, (field, messages_sent) in requests.items():
        frames = [messages.frame("Request", {field: fields}) for fields in messages_sent]
        claim(name, frames, page.frames[">" + name])


NETS = {
    "small-cnn": [("conv", 9, 1, 8), ("relu",), ("conv", 9, 8, 16), ("relu",), ("flatten",),
                  ("dense", 784, 10)],
    "char-lstm-small": [("embedding", 82, 8), ("lstm", 8, 32), ("dense", 32, 82)],
}


def check_initial_models():
    """Section 7.2."""
    text = (lrq.ROOT / "server/PROTOCOL.md").read_text()
    section = text.split("\n### 7.2 ")[1].split("\n## 8. ")[0]
    key = bytes(range(32))
    for name, layers in NETS.items():
        written, = re.findall(rf"^{name} +(\d+ .*)$", section, re.MULTILINE)
        model = models.initial(layers, key)
        numbers = " ".join(struct.pack(">f", x).hex() for x in model[:2])
        data = models.check_of(models.as_bytes(model)).hex()
        claim(name, f"{len(model)} {numbers} {data}", " ".join(written.split()))


def check():
    """Returns how many claims were compared; ends the program at the first that does not hold."""
    page = Page()
    values = page.values
    device, secret = values["device id"].encode(), bytes.fromhex(values["secret"])
    nonce = bytes.fromhex(values["nonce"])
    key = lrq.round_key(secret, device, page.task, nonce)
    claim("PSK", lrq.psk_of(secret).hex(), values["PSK"])
    claim("round key", key.hex(), values["round key"])
    salted = lrq.round_key(secret, device, page.task, nonce, bytes.fromhex(page.salted["salt"]))
    claim("salted key", salted.hex(), page.salted["salted key"])
    claim("model digest", lrq.model_digest(2, 2).hex(), values["model digest"])
    check_inputs(page)
    check_cells(page, key)
    check_codes(page, key)
    check_decisions(page, key)
    check_replies(page, key)
    check_requests(page, device, nonce, key)
    check_difference(page)
    check_initial_models()
    check_layers()
    check_beyond()
    check_round_trips()
    return claims
