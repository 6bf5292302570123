"""Runs an exported ONNX file: an interpreter for the operators that it has."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import layers


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def lstm(x, w, r, b, hidden_size):
    """ONNX has time first and the gates i o f c."""

    def gates(tensor):
        i, o, f, g = np.split(tensor, 4)
        return np.concatenate([i, f, g, o])

    b_ih, b_hh = np.split(b[0], 2)
    h = layers.lstm(x.transpose(1, 0, 2), gates(w[0]), gates(r[0]), gates(b_ih), gates(b_hh))
    assert h.shape[2] == hidden_size
    return h.transpose(1, 0, 2)[:, None], h[None, :, -1]


def instance_norm(x, scale, bias, epsilon):
    mean, var = x.mean(axis=2, keepdims=True), x.var(axis=2, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon) * scale[None, :, None] + bias[None, :, None]


def convolution(x, w, b=None, strides=None, pads=(0, 0, 0, 0), group=1, kernel_shape=None):
    if b is not None:
        return layers.conv(x, w, b, strides, pads, group)
    # One axis: the frames of a signal.
    view = np.lib.stride_tricks.sliding_window_view(x, w.shape[2], axis=2)[:, :, :: strides[0]]
    return np.einsum("ncfl,ocl->nof", view, w)


def piece(x, starts, ends, axes):
    (start,), (end,), (axis,) = starts, ends, axes
    return np.take(x, range(int(start), int(end)), axis=int(axis))


OPERATORS = {
    "Identity": lambda x: x,
    "Reshape": lambda x, shape: x.reshape(tuple(int(n) for n in shape)),
    "Transpose": lambda x, perm: x.transpose(perm),
    "Squeeze": lambda x, axes: x.squeeze(tuple(int(n) for n in axes)),
    "Concat": lambda *x, axis: np.concatenate(x, axis=axis),
    "Gather": lambda table, indices: table[indices],
    "Gemm": lambda x, w, b, transB: x @ (w.T if transB else w) + b,
    "Conv": convolution,
    "MaxPool": lambda x, kernel_shape, strides, pads: layers.max_pool(
        x, tuple(kernel_shape), strides, pads
    ),
    "AveragePool": lambda x, kernel_shape, strides, pads: layers.average_pool(
        x, tuple(kernel_shape), strides, pads
    ),
    "LSTM": lstm,
    "InstanceNormalization": instance_norm,
    "LRN": lambda x, size, alpha, beta, bias: layers.local_response_norm(
        x, size, alpha, beta, bias
    ),
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": layers.sigmoid,
    "Softmax": lambda x, axis: layers.softmax(x),
    "Slice": piece,
    "MatMul": np.matmul,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Less": np.less,
    "Xor": np.logical_xor,
    "Cast": lambda x, to: x.astype(np.float32),  # to float32 alone
    "ReduceMean": lambda x, axes, keepdims: x.mean(axis=tuple(axes), keepdims=bool(keepdims)),
    "Neg": np.negative,
    "Abs": np.abs,
    "Sub": np.subtract,
    "Div": np.divide,
    "IsNaN": np.isnan,
    "Where": np.where,
    "Equal": np.equal,
    "ReduceMax": lambda x, axes, keepdims: x.max(axis=tuple(axes), keepdims=bool(keepdims)),
    "ReduceL2": lambda x, axes, keepdims: np.sqrt(
        (x**2).sum(axis=tuple(axes), keepdims=bool(keepdims))
    ),
    "Mul": np.multiply,
    "Add": np.add,
}


def run(path, features):
    """The outputs by name; features in Sotto's order, [samples, features]."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version <= 17
    (graph_input,) = model.graph.input
    shape = [d.dim_value for d in graph_input.type.tensor_type.shape.dim][1:]
    x = features
    if len(shape) == 3:  # an image: channels first
        c, h, w = shape
        x = x.reshape(-1, h, w, c).transpose(0, 3, 1, 2)
    x = x.reshape(-1, *shape)
    is_tokens = graph_input.type.tensor_type.elem_type == onnx.TensorProto.INT64
    x = x.astype(np.int64 if is_tokens else np.float32)
    return interpret(model.graph, x), reference(model, graph_input.name, x)


def interpret(graph, x):
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    values[graph.input[0].name] = x
    for node in graph.node:
        inputs = [values[name] for name in node.input]
        outputs = OPERATORS[node.op_type](*inputs, **attributes(node))
        for name, value in zip(node.output, outputs if isinstance(outputs, tuple) else (outputs,)):
            values[name] = value
    return {o.name: values[o.name] for o in graph.output}


def reference(model, name, x):
    """The same by ONNX itself, if it is a version that can: from 1.13 on.

    Its LRN, at least until 1.17, takes the number of samples for the number of channels.
    """
    if any(node.op_type == "LRN" for node in model.graph.node):
        print("NOT TESTED: ONNX's reference of LRN, which is wrong")
        return None
    try:
        from onnx.reference import ReferenceEvaluator
    except ImportError:
        return None
    outputs = ReferenceEvaluator(model).run(None, {name: x})
    return {o.name: value for o, value in zip(model.graph.output, outputs)}
