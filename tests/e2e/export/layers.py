"""Layers in NumPy, written from their definitions: the arithmetic of a consumer of exported models.

Images are [samples, channels, height, width], sequences [samples, length, channels].
"""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def windows(x, kernel, strides, pads, fill):
    """[samples, channels, rows, columns, kernel height, kernel width]"""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1]]


def conv(x, weight, bias, strides, pads, groups=1):
    """weight [outputs, inputs / groups, height, width]"""
    view = windows(x, weight.shape[2:], strides, pads, 0.0)
    parts = [
        np.einsum("ncyxhw,ochw->noyx", v, w)
        for v, w in zip(np.split(view, groups, axis=1), np.split(weight, groups, axis=0))
    ]
    return np.concatenate(parts, axis=1) + bias[None, :, None, None]


def max_pool(x, kernel, strides, pads):
    return windows(x, kernel, strides, pads, -np.inf).max(axis=(4, 5))


def average_pool(x, kernel, strides, pads):
    total = windows(x, kernel, strides, pads, 0.0).sum(axis=(4, 5))
    return total / windows(np.ones_like(x), kernel, strides, pads, 0.0).sum(axis=(4, 5))


def lstm(x, w_ih, w_hh, b_ih, b_hh):
    """Gates i f g o. Returns h of all steps, [samples, length, units]."""
    units = w_hh.shape[1]
    h = c = np.zeros((x.shape[0], units))
    steps = []
    for t in range(x.shape[1]):
        a = x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh
        i, f, g, o = np.split(a, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps, axis=1)


def group_norm(x, groups, weight, bias):
    g = x.reshape(x.shape[0], groups, -1)
    g = (g - g.mean(axis=2, keepdims=True)) / np.sqrt(g.var(axis=2, keepdims=True) + 1e-5)
    shape = (-1,) + (1,) * (x.ndim - 2)
    return g.reshape(x.shape) * weight.reshape(shape) + bias.reshape(shape)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        first, end = max(0, c - (size - 1) // 2), min(x.shape[1], c + size // 2 + 1)
        squares[:, c] = (x[:, first:end] ** 2).sum(axis=1)
    return x / (bias + alpha / size * squares) ** beta
