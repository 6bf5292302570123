"""Recomputes a net from its safetensors or NPZ file and from what `sotto model show --json` says."""

import json
import re
import struct

import numpy as np

import layers


def load_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[first:end], "<f4").reshape(entry["shape"])
    return tensors, metadata


def arguments(layer):
    """Of "Conv2d<6, 5, 1, 2>" its numbers, as far as they are written."""
    return [int(n) for n in re.findall(r"(?<=[<, ])\d+", layer["type"])]


def broadcast(numbers, x):
    """One number, one a channel or one a feature, for samples [n, features] in Sotto's order."""
    numbers = np.atleast_1d(np.asarray(numbers, np.float64))
    return np.resize(numbers, x.shape[1]) if numbers.size < x.shape[1] else numbers


def frames_of(signal, step):
    """Powers of a signal [n, length, axes]: [n, frames, transform / 2 + 1, axes]."""
    length, hop = step["window"], step["hop"]
    size = 1 << (length - 1).bit_length()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    starts = range(0, signal.shape[1] - length + 1, hop)
    frames = np.stack([signal[:, s : s + length] for s in starts], axis=1)
    if step["kind"] == "spectrum":
        frames = frames - frames.mean(axis=2, keepdims=True)
    transform = np.fft.rfft(frames * window[:, None], size, axis=2)
    return 16 / (3 * size * length) * np.abs(transform) ** 2


def spectrum(signal, step):
    powers = frames_of(signal, step)
    half, bands = powers.shape[2] - 1, step["bands"]
    edges = [b * half // bands + 1 for b in range(bands + 1)]
    sums = [powers[:, :, a:b].sum(axis=2) for a, b in zip(edges, edges[1:])]
    return np.log(np.stack(sums, axis=2) + 2.0**-20)


def mel(signal, step):
    powers = frames_of(signal, step)
    hertz = np.arange(powers.shape[2]) * step["rate"] / (2 * (powers.shape[2] - 1))
    ends = 1127 * np.log(1 + np.array([step["low"], step["high"]]) / 700)
    edges = 700 * (np.exp(np.linspace(*ends, step["bands"] + 2) / 1127) - 1)
    sums = []
    for low, peak, high in zip(edges, edges[1:], edges[2:]):
        weights = np.minimum((hertz - low) / (peak - low), (high - hertz) / (high - peak))
        sums.append((powers * np.maximum(weights, 0)[:, None]).sum(axis=2))
    return np.log(np.stack(sums, axis=2) + 2.0**-20)


def stats(signal, _):
    rms = np.sqrt((signal**2).mean(axis=1))
    negative = signal < 0
    crossings = (negative[:, 1:] != negative[:, :-1]).mean(axis=1)
    return np.stack([signal.mean(axis=1), signal.std(axis=1), rms, np.abs(signal).max(axis=1) / rms, crossings], axis=1)


def dct(rows, step):
    count, bands = step["coefficients"], step["bands"]
    angles = np.pi * np.outer(np.arange(count), 2 * np.arange(bands) + 1) / (2 * bands)
    matrix = np.cos(angles) * np.sqrt(np.where(np.arange(count) == 0, 1, 2) / bands)[:, None]
    return np.einsum("cb,nfba->nfca", matrix, rows)


FEATURES = {"difference": lambda signal, _: np.diff(signal, axis=1), "stats": stats, "spectrum": spectrum, "mel": mel}


def features(x, shape, step):
    """A step that changes the shape of samples [n, features]."""
    height, width, channels = shape
    axes = 1 if width == 1 else channels
    if step["kind"] == "dct":
        return dct(x.reshape(len(x), height, -1, axes), step).reshape(len(x), -1)
    return FEATURES[step["kind"]](x.reshape(len(x), -1, axes), step).reshape(len(x), -1)


def prepare(description, x):
    """The steps of a prediction on raw samples [n, features]."""
    shape = description["input"]
    for step in description["preparation"]:
        if step["output"] != shape:
            x, shape = features(x, shape, step), step["output"]
            continue
        numbers = {k: broadcast(v, x) for k, v in step.items() if isinstance(v, (list, float))}
        if step["kind"] == "fill-missing":
            x = np.where(np.isnan(x), numbers["value"], x)
        elif step["kind"] == "rescale":
            x = x * numbers["factor"] + numbers["offset"]
        elif step["kind"] == "normalise":
            x = (x - numbers["mean"]) / numbers["deviation"]
        elif step["kind"] == "unit-norm":
            norm = np.sqrt((x**2).sum(axis=1, keepdims=True))
            x = x / np.where(norm == 0, 1, norm)
        else:
            assert step["in_training_only"], step
    return x


def own_order(x, flattened):
    """A value as a vector in Sotto's order."""
    if flattened is not None:
        x = x.reshape(-1, *flattened)
    return (x.transpose(0, 2, 3, 1) if x.ndim == 4 else x).reshape(x.shape[0], -1)


class Net:
    """Between layers a value is an image [n, c, h, w], a sequence [n, l, c] or a vector [n, f]."""

    def __init__(self, description, tensors):
        self.description, self.tensors = description, tensors
        self.flattened = None  # of the present value: the shape of the image that a vector was, [c, h, w]
        self.branches = {}

    def window(self, layer, index, one_d):
        """Kernel, strides and pads from the type's numbers, kernel at `index`; pools: stride is size."""
        numbers = arguments(layer)[index:]
        is_pool = "Pool" in layer["type"]
        kernel = numbers[0]
        stride = numbers[1] if len(numbers) > 1 else (kernel if is_pool else 1)
        pad = numbers[2] if len(numbers) > 2 else 0
        if one_d:
            return (1, kernel), (1, stride), (0, pad, 0, pad)
        return (kernel, kernel), (stride, stride), (pad, pad, pad, pad)

    def image(self, x, layer):
        h, w, c = layer["input"]
        if x.ndim == 4:
            return x
        if x.ndim == 3:
            return x.transpose(0, 2, 1)[:, :, None, :]
        if h * w == 1 or c == 1:
            return x.reshape(-1, c, h, w)
        raise ValueError("a vector is no image")

    def forward(self, x):
        shape = self.description["layers"][0]["input"]
        x = prepare(self.description, x)
        if self.description["tokens"]:
            x = x.astype(int)
        elif shape[0] > 1:
            x = x.reshape(-1, *shape).transpose(0, 3, 1, 2)
        elif shape[1] > 1:
            x = x.reshape(-1, *shape[1:])
        for i, layer in enumerate(self.description["layers"]):
            weights = {
                name.split(".")[1]: tensor.astype(float)
                for name, tensor in self.tensors.items()
                if name.split(".")[0] == str(i)
            }
            x = getattr(self, layer["kind"].replace("-", "_"))(x, layer, weights)
            if layer["kind"] not in ("flatten", "relu", "tanh", "sigmoid", "fork", "swap", "add"):
                self.flattened = None
        return x.reshape(x.shape[0], -1)

    def dense(self, x, layer, w):
        return x.reshape(x.shape[0], -1) @ w["weight"].T + w["bias"]

    def conv2d(self, x, layer, w):
        _, strides, pads = self.window(layer, 1, False)
        return layers.conv(self.image(x, layer), w["weight"], w["bias"], strides, pads)

    def conv1d(self, x, layer, w):
        _, strides, pads = self.window(layer, 1, True)
        weight = w["weight"][:, :, None, :]
        return layers.conv(self.image(x, layer), weight, w["bias"], strides, pads)

    def depthwise_conv2d(self, x, layer, w):
        _, strides, pads = self.window(layer, 0, False)
        groups = layer["input"][2]
        return layers.conv(self.image(x, layer), w["weight"], w["bias"], strides, pads, groups)

    def max_pool2d(self, x, layer, _):
        return layers.max_pool(self.image(x, layer), *self.window(layer, 0, False))

    def max_pool1d(self, x, layer, _):
        return layers.max_pool(self.image(x, layer), *self.window(layer, 0, True))

    def average_pool2d(self, x, layer, _):
        return layers.average_pool(self.image(x, layer), *self.window(layer, 0, False))

    def average_pool1d(self, x, layer, _):
        return layers.average_pool(self.image(x, layer), *self.window(layer, 0, True))

    def global_average(self, x, layer, _):
        return self.image(x, layer).mean(axis=(2, 3), keepdims=True)

    def relu(self, x, *_):
        return np.maximum(x, 0)

    def tanh(self, x, *_):
        return np.tanh(x)

    def sigmoid(self, x, *_):
        return layers.sigmoid(x)

    def flatten(self, x, *_):
        if x.ndim == 4:
            self.flattened = x.shape[1:]
        return x.reshape(x.shape[0], -1)

    def fork(self, x, layer, _):
        self.branches[arguments(layer)[0]] = x, self.flattened
        return x

    def swap(self, x, layer, _):
        (number,) = arguments(layer)
        taken, shape = self.branches[number]
        self.branches[number], self.flattened = (x, self.flattened), shape
        return taken

    def add(self, x, layer, _):
        branch, shape = self.branches.pop(arguments(layer)[0])
        if x.shape == branch.shape and self.flattened == shape:
            return x + branch
        total = own_order(x, self.flattened) + own_order(branch, shape)
        self.flattened = None
        return total

    def embedding(self, x, _, w):
        return w["weight"][x]

    def lstm(self, x, layer, w):
        if x.ndim == 4:
            x = x[:, :, 0, :].transpose(0, 2, 1)
        h = layers.lstm(x, *(w[f"{kind}_l0"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))
        return h if layer["output"][1] > 1 else h[:, -1]

    def group_norm(self, x, layer, w):
        return layers.group_norm(self.image(x, layer), arguments(layer)[0], w["weight"], w["bias"])

    def local_response_norm(self, x, layer, _):
        return layers.local_response_norm(self.image(x, layer), arguments(layer)[0])


def probabilities(description, outputs):
    """What `sotto model predict` prints of outputs."""
    if description["classes"] == 0:
        return outputs
    if description["loss"] == "softmax":
        return layers.softmax(outputs)
    p = layers.sigmoid(outputs)
    return np.hstack([1 - p, p]) if description["outputs"] == 1 else p
