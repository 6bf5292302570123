"""recompute.py FOLDER: exported files of a model give the predictions of `sotto model predict`.

FOLDER has net.json (`sotto model show --json`), model.safetensors, model.npz, model.onnx, features.f32 and
predictions.csv, which `sotto model predict` wrote for them. Exit status 1 if a probability differs by more than 1e-5.
"""

import csv
import json
import pathlib
import sys

import numpy as np

import tensors

TOLERANCE = 1e-5


def compare(what, found, expected):
    error = float(np.abs(found - expected).max())
    print(f"{what}: largest difference {error:.2g}")
    if not error <= TOLERANCE:
        sys.exit(1)


def predictions(path):
    """The columns of probabilities or values."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    keep = [i for i, name in enumerate(rows[0]) if name not in ("class", "class_name", "error")]
    return np.array([[float(row[i]) for i in keep] for row in rows[1:]])


def main():
    folder = pathlib.Path(sys.argv[1])
    description = json.loads((folder / "net.json").read_text())
    width = int(np.prod(description["input"]))
    features = np.fromfile(folder / "features.f32", "<f4").reshape(-1, width)
    expected = predictions(folder / "predictions.csv")
    weights, metadata = tensors.load_safetensors(folder / "model.safetensors")
    assert metadata["digest"] == description["digest"], metadata
    archive = dict(np.load(folder / "model.npz"))
    for name, values in (("safetensors", weights), ("npz", archive)):
        outputs = tensors.Net(description, values).forward(features)
        compare(name, tensors.probabilities(description, outputs), expected)
    try:
        import onnx  # noqa: F401
    except ImportError:
        print("NOT TESTED: ONNX, no python3-onnx")
        return
    import graph

    for name, outputs in zip(("onnx", "onnx reference"), graph.run(folder / "model.onnx", features)):
        if outputs is not None:
            found = outputs[next(iter(outputs))]
            found = found.transpose(0, 2, 3, 1) if found.ndim == 4 else found
            compare(name, found.reshape(expected.shape), expected)


main()
