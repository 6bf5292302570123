"""Recomputes section 8 of server/PROTOCOL.md, and tests/vectors/layers.csv."""
import fractions
import re
import struct
import sys

from independent import lrq
from independent import messages


class Page:
    """Section 8 of server/PROTOCOL.md, taken apart."""

    def __init__(self):
        text = (lrq.ROOT / "server/PROTOCOL.md").read_text().split("\n## 8. Example\n")[1]
        blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
        self.values = self.pairs(blocks[0])
        self.words = [line.split()[1:] for line in blocks[2].splitlines()[1:]]
        self.rows = [[int(x) for x in line.split()] for line in blocks[3].splitlines()[1:]]
        self.code = self.pairs(blocks[4])
        self.frames = {}
        for mark, name, data in re.findall(r"^([<>]) (\w+) +([0-9a-f\s]+)", text, re.MULTILINE):
            self.frames.setdefault(mark + name, []).append(bytes.fromhex(data))
        self.model = self.numbers(text, r"at present (.*?)\.\s")
        self.update = self.numbers(text, r"its update is (.*?), whose")
        self.task = self.read_task(re.search(r"The task: (.*?)\.\s", text, re.DOTALL).group(1))

    def read_task(self, text):
        task = {"job": bytes.fromhex(self.values["job id"]), "round": int(self.values["round"]),
                "attempt": int(self.values["attempt"])}
        kinds = dict(messages.MESSAGES["Train"].values())
        for name, number in re.findall(r"(\w+) (-?[\d.]*\d)", text):
            task[name] = float32(number) if kinds[name] is float else int(number)
        return task

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


def check_replies(page, task):
    """Decodes the page's replies, compares them and encodes them again."""
    replies = {
        "Train": [task],
        "Chunk": [{"bytes": struct.pack(f"<{len(page.model)}f", *page.model)}],
        "Ack": [{"offset": 0, "complete": 0}, {"offset": 3, "complete": 1}],
        "Wait": [{"wait_ms": 1000}],
        "Error": [{"code": 8, "final": 0, "retry_after_ms": 1000}],
        "Done": [{}],
    }
    for name, expected in replies.items():
        frames = page.frames["<" + name]
        claim(f"number of {name}", len(frames), len(expected))
        for data, fields in zip(frames, expected):
            claim(f"{name} decoded", messages.decode("Reply", data[2:]), {name.lower(): fields})
            claim(f"{name} encoded", messages.frame("Reply", {name.lower(): fields}), data)


def check_update(page, task, key):
    """Words, cells, codes and bytes. Returns the encoded update."""
    count = len(page.update)
    streams = [lrq.words(key, n, count) for n in (0, 1, 2)]
    claim("words", [[f"{word:016x}" for word in row] for row in zip(*streams)], page.words)
    v = lrq.scaled(page.update, task)
    h = int(page.code["scale code"])
    limit = lrq.scale_limit(h)
    claim("A", limit, int(page.code["A"]))
    claim("bits", lrq.code_bits(limit, task["dither"]), int(page.code["bits"]))
    rows = []
    for j, place in enumerate(lrq.cells(key, count, task["dither"])):
        m, m_min = lrq.quantize(v[j], place), lrq.quantize(-limit, place)
        width, left, shift = place
        rows.append([j, width, left, shift, v[j], m, m_min, m - m_min, lrq.dequantize(m, place)])
    claim("cells and codes", rows, page.rows)
    extended = [j for j, word in enumerate(streams[0]) if (word >> 55) % 256 in (0, 255)]
    claim("extended coordinates", extended, [2])
    without = lrq.cell(streams[0][2], streams[1][2], 0, task["dither"])
    claim("n = 2 matters to coordinate 2", lrq.dequantize(rows[2][5], without) != rows[2][8], True)
    update = lrq.encode_update(page.update, task, key)
    claim("update", update.hex(), page.code["update"])
    noisy = [row[8] * task["unit"] / 2**20 for row in page.rows]
    claim("update decoded", lrq.decode_update(update, count, task, key), noisy)
    return update


def check_layers():
    lines = (lrq.ROOT / "tests/vectors/layers.csv").read_text().splitlines()
    vectors = [line.split(",") for line in lines if not line.startswith("#")]
    claim("columns of layers.csv", vectors[0], ["p96", "r", "g"])
    for p96, *exact in vectors[1:]:
        errors = [abs(computed - fractions.Fraction(x) * 2**27)
                  for computed, x in zip(lrq.layer(int(p96, 16)), exact)]
        claim(f"layer of {p96} is within 0.6 * 2^-27", max(errors) <= 0.6, True)


def check_requests(page, task, device, nonce, update):
    begin = {name: task[name] for name in ("job", "round", "attempt", "coding")}
    requests = {
        "Hello": ("hello", {"version": 1, "device": device, "max_frame": 1024,
                            "model_digest": bytes.fromhex(page.values["model digest"])}),
        "GetModel": ("get_model", {"offset": 0}),
        "UpdateBegin": ("update_begin", begin | {"nonce": nonce, "size": len(update)}),
        "UpdateChunk": ("update_chunk", {"offset": 0, "bytes": update}),
    }
    for name, (field, fields) in requests.items():
        claim(name, [messages.frame("Request", {field: fields})], page.frames[">" + name])


def check():
    """Returns how many claims were compared; ends the program at the first that does not hold."""
    page = Page()
    values, task = page.values, page.task
    device, secret = values["device id"].encode(), bytes.fromhex(values["secret"])
    nonce = bytes.fromhex(values["nonce"])
    key = lrq.round_key(secret, device, task, nonce)
    claim("PSK", lrq.psk_of(secret).hex(), values["PSK"])
    claim("round key", key.hex(), values["round key"])
    claim("model digest", lrq.model_digest(2, 2).hex(), values["model digest"])
    check_replies(page, task)
    check_requests(page, task, device, nonce, check_update(page, task, key))
    check_layers()
    return claims
