"""Softmax regression by SGD, in plain Python: what a device does with its own samples."""
import gzip
import math
import operator
import random
import struct
import time

CLASSES = 10


def read_idx(path, first, count):
    """Items first to first + count - 1, each as bytes."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        dimensions = struct.unpack(">4B", file.read(4))[3]
        total, *shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        size = math.prod(shape)
        file.seek(first * size, 1)
        data = file.read(count * size)
    if count < 1 or len(data) != count * size:
        raise ValueError(f"{path} has {total} items, not {first} to {first + count - 1}")
    return [data[i:i + size] for i in range(0, len(data), size)]


def dot(a, b):
    return sum(map(operator.mul, a, b))


def add_scaled(a, b, factor):
    return [x + factor * y for x, y in zip(a, b)]


def gradient(rows, batch):
    """Mean over the batch; rows are [weights of an output..., its bias], an x ends with a 1."""
    total = [[0.0] * len(row) for row in rows]
    for x, label in batch:
        logits = [dot(row, x) for row in rows]
        top = max(logits)
        weights = [math.exp(logit - top) for logit in logits]
        for c, weight in enumerate(weights):
            slope = weight / sum(weights) - (c == label)
            total[c] = add_scaled(total[c], x, slope / len(batch))
    return total


def clipped(rows, base, clip):
    """rows, pulled toward base to the distance `clip` if they are further away; were they?"""
    delta = [add_scaled(row, start, -1) for row, start in zip(rows, base)]
    norm = math.sqrt(sum(dot(row, row) for row in delta))
    if norm <= clip:
        return rows, False
    return [add_scaled(start, row, clip / norm) for start, row in zip(base, delta)], True


def moved(model, update):
    """The model with the update added, float32."""
    count = len(update)
    return struct.pack(f"<{count}f", *add_scaled(struct.unpack(f"<{count}f", model), update, 1))


def as_floats(update, clip):
    """The update for coding 2."""
    # A little less than the clip: rounding to float32 must not bring the norm above it.
    norm = math.sqrt(dot(update, update))
    factor = min(1, clip * (1 - 2**-20) / norm) if norm else 1
    return struct.pack(f"<{len(update)}f", *(x * factor for x in update))


class TooLate(Exception):
    """The training is not finished at its end (4)."""


def train(model, samples, task, end=math.inf):
    """The update, in the model's layout (7): weights [outputs][inputs], then biases. Was it clipped?

    A training that diverges, or is not finished when time.monotonic() is `end`, gives zeros, and
    counts as clipped (6).
    """
    params = struct.unpack(f"<{len(model) // 4}f", model)
    if not all(map(math.isfinite, params)):
        raise ValueError("the model has a parameter that is not finite")
    try:
        update, was_clipped = descend(params, samples, task, end)
    except (OverflowError, TooLate):
        update = [math.nan]
    if all(map(math.isfinite, update)):
        return update, was_clipped
    return [0.0] * len(params), True


def descend(params, samples, task, end):
    """The update and whether it was clipped.

    With clipping 2 the encoder scales the update; here it is only compared.
    """
    inputs = len(params) // CLASSES - 1
    base = [list(params[c * inputs:(c + 1) * inputs]) + [params[CLASSES * inputs + c]]
            for c in range(CLASSES)]
    rows, rate, was_clipped = base, task["learning_rate"], False
    for _ in range(task["local_epochs"]):
        order = random.sample(samples, len(samples))
        for at in range(0, len(order), task["batch_size"]):
            if time.monotonic() >= end:
                raise TooLate
            slopes = gradient(rows, order[at:at + task["batch_size"]])
            shrink = -rate * task["weight_decay"]
            slopes = [add_scaled(row, slope, -rate) for row, slope in zip(rows, slopes)]
            rows = [add_scaled(new, row, shrink) for new, row in zip(slopes, rows)]
            if task["clipping"] == 1:
                rows, now = clipped(rows, base, task["clip_l2"])
                was_clipped = was_clipped or now
    was_clipped = was_clipped or clipped(rows, base, task["clip_l2"])[1]
    delta = [add_scaled(row, start, -1) for row, start in zip(rows, base)]
    return [x for row in delta for x in row[:-1]] + [row[-1] for row in delta], was_clipped


def read_samples(data, labels, first, count):
    """(pixels from 0 to 1 and a 1 for the bias, label) of samples first to first + count - 1."""
    images, numbers = read_idx(data, first, count), read_idx(labels, first, count)
    return [([pixel / 255 for pixel in image] + [1.0], number[0])
            for image, number in zip(images, numbers)]
