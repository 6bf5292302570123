#!/usr/bin/python3
"""A device for Sotto in plain Python, as server/PROTOCOL.md and sdk/LRQ.md say.

It shares no line with Sotto's own client: that the two can stand in one round shows that the pages
say what the code does. The folder `independent` beside it has the parts.

    independent_client.py --server HOST:PORT --key FILE --data IDX --labels IDX --samples N:COUNT
    independent_client.py --check    recompute the pages' numbers and tests/vectors/layers.csv

Exit status: 0 the job is over, or the check passed; 1 failed, or the task was refused; 2 bad usage.
Needs python3-cryptography (ChaCha20) and the OpenSSL that Python itself uses (libssl.so.3).
"""
import argparse
import math
import os
import pathlib
import sys
import time

from independent import codes
from independent import example
from independent import lrq
from independent import models
from independent import training
from independent.link import Link
from independent.link import LinkLost
from independent.link import MAX_FRAME
from independent.link import ServerError

RETRY_SECONDS = 1
HOLD_MS = 5000  # for which the server may hold its answer; the link waits for 30 s
TAKES_SALT = 128  # of the features in Hello
TAKES_DIFFERENCES = 4096
FEATURES = TAKES_SALT + 256 + 512 + TAKES_DIFFERENCES  # it keeps to report_ms and length, too
SERVER_REMEMBERS = 1  # of the features of a server


class Refused(Exception):
    """What the server wants is not done, now or later."""


def check_task(task, allow_no_privacy):
    """Raises Refused for a task that is out of the limits of Train, or not private."""
    counts = (task["local_epochs"], task["batch_size"])
    rates = (task["learning_rate"], task["weight_decay"])
    good = (len(task["job"]) == 16
            and task["coding"] in (1, 2, 3)
            and {task["dither"], task["clipping"]} <= {1, 2}
            and all(2**-126 <= task[name] < math.inf for name in ("quantizer_scale", "clip_l2"))
            and (task["coding"] == 2 or task["clip_l2"] <= 1024 * task["quantizer_scale"])
            and all(0 <= rate < math.inf for rate in rates)
            and all(1 <= count <= 65535 for count in counts)
            and 256 <= task["max_frame"] <= 65535
            and task["padding"] <= 4096
            and task["length"] <= (0 if task["coding"] == 2 else 2**27)
            and task["clip_bit"] <= (0 if task["coding"] == 2 else 2**30))
    if not good:
        raise Refused("the task is out of its limits")
    if 2 in (task["coding"], task["dither"]) and not allow_no_privacy:
        raise Refused("the task has no privacy")


class Round:
    """What is kept of an attempt while connections come and go."""

    def __init__(self, task):
        self.task = task
        self.download = None  # models.Download
        self.model = b""
        self.nonce = self.trained = self.salt = self.update = None
        # When the update is announced, and when its training must have ended (4).
        seconds = task["report_ms"] / 1000
        self.report_at = time.monotonic() + seconds
        self.bytes_at = self.report_at + seconds / 8  # its first bytes leave
        self.train_until = time.monotonic() + 3 / 4 * seconds if seconds else math.inf

    def is_for(self, task):
        return all(self.task[name] == task[name] for name in ("job", "round", "attempt"))


class Device:
    """The loop of section 4 of the page."""

    def __init__(self, name, secret, samples, allow_no_privacy=False, features=FEATURES):
        self.name, self.secret, self.samples = name, secret, samples
        self.features = features
        self.inputs = len(samples[0][0]) - 1
        self.model_size = 4 * training.CLASSES * (self.inputs + 1)
        self.allow_no_privacy = allow_no_privacy
        self.round = None
        self.said = None     # in the Hellos of this link, if its server remembers them
        self.held = b""      # the model that it has downloaded and checked
        self.downloaded = 0  # bytes of models, and of their codes
        self.receipt = b""   # what the server gave last, for the next Hello
        self.exact = {}      # by round: the model that the server has before it, rounded to no grid
        self.released = b""  # the one after the last round, if this device is its whole cohort

    def run(self, address, give_up_seconds=0):
        """Until the job is over. Raises Refused, or LinkLost after so long without a server."""
        last_seen = time.monotonic()
        while True:
            try:
                self.said = None
                with Link(address, self.name, lrq.psk_of(self.secret)) as link:
                    while self.step(link):
                        last_seen = time.monotonic()
                    return
            except OSError as error:
                print(f"{error}; connecting again", file=sys.stderr)
                if time.monotonic() - last_seen > give_up_seconds > 0:
                    raise LinkLost("no server") from error
                time.sleep(RETRY_SECONDS)

    def step(self, link):
        """Says Hello and does what the server wants. False: the job is over."""
        whole = {"version": 1, "device": self.name, "max_frame": MAX_FRAME,
                 "model_digest": lrq.model_digest(self.inputs, training.CLASSES),
                 "receipt": self.receipt, "features": self.features, "hold_ms": HOLD_MS,
                 "held": models.check_of(self.held)}
        try:
            name, reply = link.ask("hello", self.hello(whole), "wait", "train", "done")
            if name != "done":
                if self.said or reply["server_features"] & SERVER_REMEMBERS:
                    self.said = whole
            if name == "train":
                self.take_part(link, reply)
                return True
        except ServerError as error:
            self.said = None
            self.on_error(error.fields)
            return True
        self.round = None
        if name == "done" and self.features & TAKES_DIFFERENCES:
            self.fetch_release(link)
        time.sleep(reply.get("wait_ms", 0) / 1000)
        return name == "wait"

    def hello(self, whole):
        """What has changed since the last Hello of this link; all of it, if something is gone."""
        if not self.said or any(self.said[name] and not whole[name] for name in whole):
            return whole
        changed = {name: value for name, value in whole.items() if value != self.said[name]}
        return changed | {"hold_ms": HOLD_MS}

    def on_error(self, fields):
        print(f"the server says error {fields['code']}", file=sys.stderr)
        if fields["code"] in (1, 2):
            raise Refused("this client needs an update")
        if fields["final"]:
            self.round = None
        time.sleep(RETRY_SECONDS if fields["final"] else fields["retry_after_ms"] / 1000)

    def take_part(self, link, task):
        self.receipt = task["receipt"] or self.receipt
        check_task(task, self.allow_no_privacy)
        if not (self.round and self.round.is_for(task)):
            self.round = Round(task)
        self.round.task["model"] = task["model"]  # after a lost link it may be another offer
        if not self.round.model and not self.download(link):
            return
        if not self.round.trained:
            self.train()
        time.sleep(max(0, self.round.report_at - time.monotonic()))
        self.upload(link)
        self.round = None
        print(f"round {task['round']}: reported", flush=True)

    def train(self):
        task, model = self.round.task, self.round.model
        self.round.nonce = os.urandom(16)
        self.round.trained = training.train(model, self.samples, task, self.round.train_until)

    def take_salt(self, salt):
        """Encodes the update, under one key: a second salt is refused."""
        if self.round.salt not in (None, salt):
            raise Refused("the server gave another salt")
        if salt and not self.features & TAKES_SALT:
            raise Refused("the server gave a salt to a device that takes none")
        self.round.salt = salt
        if not self.round.update:
            self.encode()

    def encode(self):
        task, model = self.round.task, self.round.model
        update, was_clipped = self.round.trained
        self.round.update = self.encoded(update, was_clipped)
        if task["length"] and len(self.round.update) > task["length"]:
            update = [0.0] * len(update)
            self.round.update = self.encoded(update, True)
        # The server rounds what it shows to a grid, and goes on from what it had before.
        before = self.exact.get(task["round"], model)
        self.exact[task["round"] + 1] = self.released = training.moved(before,
                                                                       self.decoded(update))

    def encoded(self, update, was_clipped):
        """The update's bytes; they may exceed the task's length."""
        task = self.round.task
        if task["coding"] == 2:
            return training.as_floats(update, task["clip_l2"])
        v = lrq.scaled(update, task)
        if task["clip_bit"]:
            v.append(-task["clip_bit"] if was_clipped else task["clip_bit"])
        return codes.encode(v, task, self.key())

    def decoded(self, update):
        """What the server adds for this update."""
        task = self.round.task
        if task["coding"] == 2:
            return update
        count = len(update) + (1 if task["clip_bit"] else 0)
        noisy = codes.decode(self.round.update, count, task, self.key())
        return [x * task["quantizer_scale"] / 2**20 for x in noisy[:len(update)]]

    def key(self):
        return lrq.round_key(self.secret, self.name, self.round.task, self.round.nonce,
                             self.round.salt)

    def download(self, link):
        """False: what came is not the model that was offered."""
        offer = self.round.task["model"]
        if self.held and offer.get("check") == models.check_of(self.held):
            self.round.model = self.held
            return True
        try:
            if not self.round.download or self.round.download.offer != offer:
                self.round.download = models.Download(offer, self.model_size, self.held)
            self.fetch(link, self.round.download)
            self.round.model = self.round.download.model()
        except ValueError as error:
            print(f"{error}; asking anew", file=sys.stderr)
            if not (self.held and offer.get("grid") and offer["base"] == models.HELD):
                time.sleep(RETRY_SECONDS)
            self.held, self.round = b"", None
            return False
        self.held = self.round.model if offer.get("check") else b""
        return True

    def fetch_release(self, link):
        """The newest released model, which this device then holds."""
        _, release = link.ask("get_release", {"held": models.check_of(self.held)}, "release")
        if release["model"]["check"] != models.check_of(self.held):
            download = models.Download(release["model"], self.model_size, self.held)
            self.fetch(link, download)
            self.held = download.model()
        print(f"the model after {release['rounds']} rounds: {release['claims'].decode()}")

    def fetch(self, link, download):
        while not download.is_whole():
            _, chunk = link.ask("get_model", download.request(), "chunk")
            download.take(chunk["bytes"])
            self.downloaded += len(chunk["bytes"])

    def upload(self, link):
        task = self.round.task
        begin = {name: task[name] for name in ("job", "round", "attempt", "coding", "clip_bit")}
        begin["nonce"] = self.round.nonce
        # What stands around the bytes, four tags, two lengths, the offset and `last`: 16.
        step = (min(MAX_FRAME, task["max_frame"]) - 16) // 4 * 4
        _, ack = link.ask("update_begin", begin, "ack")
        if not ack["complete"]:
            self.take_salt(ack["salt"])
            time.sleep(max(0, self.round.bytes_at - time.monotonic()))
        update = self.round.update
        while not ack["complete"]:
            offset = ack["offset"]
            if offset >= len(update):
                raise LinkLost(f"bytes from {offset} on are wanted, of {len(update)}")
            chunk = {"offset": offset, "bytes": update[offset:offset + step],
                     "last": int(offset + step >= len(update))}
            _, ack = link.ask("update_chunk", chunk, "ack")


def read_key(path):
    """Name and secret from a key file of `sotto keys new`."""
    lines = pathlib.Path(path).read_text(encoding="ascii").splitlines()
    if len(lines) != 3 or lines[0] != "sotto-key 1":
        raise ValueError(f"{path} is not a key file")
    fields = dict(line.split(" ") for line in lines[1:])
    return fields["device"].encode(), bytes.fromhex(fields["secret"])


def parse_options():
    parser = argparse.ArgumentParser(description="A device for Sotto, by its protocol's page.")
    parser.add_argument("--check", action="store_true", help="recompute the pages' numbers")
    parser.add_argument("--server", default="127.0.0.1:7177", help="HOST:PORT")
    parser.add_argument("--key", help="this device's key file, from `sotto keys new`")
    parser.add_argument("--data", help="IDX file of images, as it is or gzip")
    parser.add_argument("--labels", help="IDX file of labels")
    parser.add_argument("--samples", help="FIRST:COUNT, this device's share")
    parser.add_argument("--released",
                        help="write the model that is released if this is the whole cohort, as "
                             "it is before it is rounded to a grid, and as FILE.fetched the one "
                             "that the server gives at the end")
    parser.add_argument("--give-up", type=float, default=0,
                        help="seconds without a server before giving up; 0: never")
    parser.add_argument("--allow-no-privacy", action="store_true",
                        help="also take jobs without Gaussian dither")
    parser.add_argument("--features", type=int, default=FEATURES,
                        help="of Hello; 0: as devices before 0.2.0")
    options = parser.parse_args()
    if not options.check and not all((options.key, options.data, options.labels, options.samples)):
        parser.error("--key, --data, --labels and --samples are needed")
    return options


def main():
    options = parse_options()
    if options.check:
        print(f"{example.check()} claims of server/PROTOCOL.md and sdk/LRQ.md hold")
        return
    try:
        name, secret = read_key(options.key)
        first, count = (int(part) for part in options.samples.split(":"))
        samples = training.read_samples(options.data, options.labels, first, count)
        host, _, port = options.server.rpartition(":")
        device = Device(name, secret, samples, options.allow_no_privacy, options.features)
        device.run((host, int(port)), options.give_up)
        if options.released:
            pathlib.Path(options.released).write_bytes(device.released)
            pathlib.Path(options.released + ".fetched").write_bytes(device.held)
    except (Refused, ValueError, OSError) as error:
        sys.exit(f"independent_client.py: {error}")


if __name__ == "__main__":
    main()
