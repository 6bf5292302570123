"""notebook.py NOTEBOOK [--write]: runs the code cells of a notebook, in one namespace and without Jupyter, and
compares what they print and give with the outputs that it holds: words are equal, numbers within one in 10^6.
--write puts the outputs into the notebook instead."""
import ast
import contextlib
import io
import json
import math
import re
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def output_of(source, names):
    """What a cell prints, and behind it what its last line gives."""
    printed = io.StringIO()
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    return printed.getvalue(), "" if value is None else repr(value)


def as_outputs(printed, value):
    outputs = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)})
    if value:
        outputs.append({"data": {"text/plain": value.splitlines(True)}, "execution_count": None, "metadata": {},
                        "output_type": "execute_result"})
    return outputs


def stored(cell):
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return "\n".join("".join(text) for text in texts)


def is_like(got, expected):
    numbers = zip(NUMBER.findall(got), NUMBER.findall(expected))
    return (NUMBER.sub("#", got).split() == NUMBER.sub("#", expected).split() and
            all(math.isclose(float(a), float(b), rel_tol=1e-6) for a, b in numbers))


def main(path, write=False):
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    names, wrong = {}, 0
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        outputs = as_outputs(*output_of("".join(cell["source"]), names))
        if write:
            cell["outputs"] = outputs
        elif not is_like(got := stored({"outputs": outputs}), expected := stored(cell)):
            print(f"FAILED: a cell gives\n{got}\nand the notebook has\n{expected}")
            wrong += 1
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(cells)} cells, {wrong} wrong")
    return wrong > 0 or not cells


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv))
