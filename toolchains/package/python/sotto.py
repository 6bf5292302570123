"""Sotto from Python: each command of the programs `sotto` and `sotto-lab` is a function.

    run = sotto.simulate(data="synthetic", epsilon=8, seed=1)    # sotto simulate --data synthetic ...
    run.accuracy, run.epsilon, run.rounds, run.frame(), run.weights
    sotto.account.epsilon(sampling="none", noise_multiplier=9, rounds=1, delta=1e-5).epsilon
    sotto.lab.audit.sensitivity(data="synthetic")                # sotto-lab audit sensitivity ...

The functions, their arguments and their help come from the programs: `help(sotto.simulate)` lists what this
build takes. An option is a keyword, with _ for -; an argument such as STORE may also stand in its place. Arrays
of NumPy and frames of pandas may stand where the command line names a file. `progress=print` shows the log while
the program runs. A failure raises sotto.Error.

The variable SOTTO_PROGRAM names the program `sotto`, with `sotto-lab` beside it. Without it they are the programs that
a wheel has brought into this environment, else the programs in PATH.
"""
import contextlib
import csv
import difflib
import functools
import inspect
import io
import json
import keyword
import math
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import types
import warnings
import weakref

__version__ = "0.2.1-dev"

_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
_TYPES = {"flag": bool, "count": int, "integer": int, "real": float, "text": str, "texts": list}


class Error(Exception):
    """Why a command failed.

    option  the name of the option that is wrong, as a keyword; None if it is not known
    advice  what to do; None if it is not known
    status  the exit status of the program; None if it did not run
    result  what the command wrote before it failed, for example of a job that gave up; or None
    log     the lines that it wrote
    """

    def __init__(self, text, option=None, advice=None, status=None, result=None, log=()):
        super().__init__(text)
        self.option, self.advice, self.status, self.result, self.log = option, advice, status, result, list(log)


class Rows(list):
    """The rows of a table, each a dict."""

    def frame(self):
        """As a pandas.DataFrame. A column such as evaluation_loss is a value of an inner dict."""
        try:
            import pandas
        except ImportError:
            raise ImportError("frame() needs pandas; install it: pip install pandas") from None
        return pandas.json_normalize(list(self), sep="_")


class Result(dict):
    """What a command wrote as JSON. A field is an item and an attribute: result["epsilon"], result.epsilon.

    text  what it printed, if that is not JSON
    log   the lines that it wrote to standard error
    """

    text, log = "", ()

    def frame(self, field):
        """A list of the result as a pandas.DataFrame: result.frame("cells")."""
        return Rows(self[field]).frame()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no field {name!r}; it has {', '.join(self)}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]

    def __repr__(self):
        return f"<{type(self).__name__}: {', '.join(self)}>" if self else f"<{type(self).__name__}: text, log>"


class Run(Result):
    """The result of a simulation, or with `seeds` of several.

    rounds      a list of dicts, one for each released round
    model_out   the file with the trained parameters: float32, little-endian; without a name of yours it lives as
                long as the run
    """

    def frame(self, field="rounds"):
        """A list of the result as a pandas.DataFrame; of several seeds with the column `seed`."""
        several = [{"seed": run["seed"], **row} for run in self.get("runs", ()) for row in run[field]]
        return Rows(several or self[field]).frame()

    def plot(self, y="accuracy", x="round", axes=None):
        """Draws column y of frame() over column x with Matplotlib; of several seeds the mean, and the range as a band.
        Returns the axes: those given, or new ones."""
        try:
            import matplotlib.pyplot
        except ImportError:
            raise ImportError("plot() needs Matplotlib; install it: pip install matplotlib") from None
        frame = self.frame()
        for name in (x, y):
            if name not in frame:
                raise KeyError(f"the rounds have no column {name!r}; they have {', '.join(frame)}")
        axes = axes or matplotlib.pyplot.subplots()[1]
        values = frame[[x, y]].dropna().groupby(x)[y].agg(["mean", "min", "max"])
        line, = axes.plot(values.index, values["mean"], label=self.get("model"))
        if "runs" in self:
            axes.fill_between(values.index, values["min"], values["max"], color=line.get_color(), alpha=0.2)
        axes.set(xlabel=x, ylabel=y)
        return axes

    @property
    def weights(self):
        """The trained parameters as one array of NumPy."""
        import numpy
        return numpy.fromfile(self.model_out, "<f4")

    def __repr__(self):
        if "runs" in self:
            return f"<Run: {len(self['runs'])} simulations>"
        says = [f"{key} {self[key]}" for key in ("model", "data", "accuracy", "epsilon", "delta", "unit", "adjacency")
                if self.get(key) is not None]
        if self.get("privacy_note"):  # an epsilon never goes without what it means
            says.append(self["privacy_note"])
        return f"<Run: {', '.join(says)}>"


# ---- The programs

def _find(name):
    given = os.environ.get("SOTTO_PROGRAM")
    beside = given and (given if name == "sotto" else os.path.join(os.path.dirname(given), name))
    found = beside and shutil.which(beside)
    if not found and not (given and name == "sotto"):
        # A wheel may have brought the programs into this environment, whether it is activated or not.
        found = shutil.which(os.path.join(sysconfig.get_path("scripts"), name)) or shutil.which(name)
    if not found:
        where = f"SOTTO_PROGRAM is {given!r}" if given else "no folder of PATH has it"
        raise Error(f"there is no program {name}: {where}; build Sotto, or name its program: "
                    "SOTTO_PROGRAM=/path/to/build/host/bin/sotto")
    return found


def _commands_of(program):
    """What `PROGRAM options` prints."""
    run = subprocess.run([program, "options"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Error(f"{program} does not say what it takes: {run.stderr.strip()}; this package needs Sotto "
                    f"{__version__} or later", status=run.returncode)
    return json.loads(run.stdout)


def _infinite(fields):
    return {key: _INFINITE.get(value, value) if isinstance(value, str) else value for key, value in fields.items()}


def _run(command, progress):
    """Runs a command. Returns its exit status, its standard output, its log, and why it failed."""
    log, failure = [], {}
    # A new session, so that the program gets one SIGINT, from here, and not a second one from the terminal.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out, \
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                             encoding="utf-8", errors="replace", start_new_session=True) as process:
        try:
            for line in process.stderr:
                line = line.rstrip("\n")
                if line.startswith('{"program":'):
                    failure = json.loads(line)
                    continue
                log.append(line)
                if line.startswith("warning: "):
                    warnings.warn(line[len("warning: "):], stacklevel=5)
                if progress:
                    progress(line)
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.stderr.read()  # a pipe that is full would stop it
            process.wait()
            raise
        status = process.wait()
        out.seek(0)
        return status, out.read(), log, failure


# ---- Values of Python as texts of the command line

def _is_array(value):
    return hasattr(value, "__array__") and value.shape != ()


def _is_samples(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]
    return any(map(_is_array, parts))


def _escaped(text):
    return "".join("\\" + c if c in ",=:\\" else c for c in str(text))


def _file_of(value, path):
    """Writes arrays or a frame to a file, whose name begins so. Returns the text that names it.

    A frame; an array; a pair of samples and labels; or a dict of these, whose texts are options of the file:
    {"x": windows, "y": labels, "who": users, "group": "who"}, {"samples": frame, "label": "activity"}.
    """
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise TypeError("arrays are (samples, labels), or a dict: {'x': x, 'y': y, 'who': who, 'group': 'who'}")
        value = dict(zip(("x", "y"), value))
    parts = value if isinstance(value, dict) else {"x": value}
    options = [f"{key}={_escaped(text)}" for key, text in parts.items() if isinstance(text, str)]
    arrays = {key: part for key, part in parts.items() if not isinstance(part, str)}
    frame = next(iter(arrays.values()))
    if len(arrays) == 1 and hasattr(frame, "columns"):
        frame.to_csv(path := path + ".csv", index=False)
    else:
        import numpy
        arrays = {key: numpy.asarray(array) for key, array in arrays.items()}
        texts = {key: array.astype(str) for key, array in arrays.items() if array.dtype == object}
        numpy.savez(path := path + ".npz", **{**arrays, **texts})
    return ":".join([_escaped(path), ",".join(options)]) if options else _escaped(path)


def _texts(row, value, folder):
    """The values that an option gets, none or several."""
    if _is_samples(value):
        return [_file_of(value, os.path.join(folder(), _keyword(row)))]
    if row["type"] == "texts" and not isinstance(value, (str, os.PathLike)):
        return [str(each) for each in value]
    if isinstance(value, (list, tuple, range)):
        return [",".join(map(str, value))]
    if isinstance(value, Result) and "model_out" in value.__dict__:
        return [value.model_out]
    return [str(value)]


def _words(row, value, folder):
    """Of the command line."""
    if value is None:
        return []
    if row["type"] == "flag":
        return [f"--{row['name']}"] if value else []
    texts = _texts(row, value, folder)
    return [f"--{row['name']}={text}" if row["name"] else text for text in texts]


# ---- Commands as functions

def _keyword(row):
    name = (row["name"] or row["argument"].lower()).replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _describe(row):
    text = f"    {_keyword(row)}: {row['help']}"
    if row["choices"]:
        text += f" ({', '.join(row['choices'])})"
    if row["derived_default"]:
        text += f" (default: {row['derived_default']})"
    return text


def _nearest(name, names, otherwise):
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _given(name, rows, arguments, options):
    """The values by their keywords. Raises TypeError for a name that the command does not have."""
    places = [key for key, row in rows.items() if row["argument"]]
    if len(arguments) > len(places):
        raise TypeError(f"{name}() takes at most {len(places)} positional arguments ({', '.join(places)})")
    given = dict(zip(places, arguments))
    for key, value in options.items():
        if key not in rows:
            raise TypeError(f"{name}() has no option {key!r}; " + _nearest(key, rows, f"help({name}) lists them"))
        if key in given:
            raise TypeError(f"{name}() got {key!r} twice")
        given[key] = value
    return given


def _rows_of(text):
    """A table in CSV, its numbers as numbers."""
    def number(field):
        for read in (int, float):
            try:
                return read(field)
            except ValueError:
                pass
        return field
    return Rows({key: number(field) for key, field in row.items()} for row in csv.DictReader(io.StringIO(text)))


def _read(given, rows, is_simulation, text):
    """What the command wrote: its JSON, its table, or text."""
    if given.get("json"):
        if given["json"] != "-" and os.path.exists(given["json"]):
            with open(given["json"], encoding="utf-8") as file:
                text = file.read()
        try:
            return (Run if is_simulation else Result)(json.loads(text, object_hook=_infinite))
        except ValueError:
            pass
    if "out" in rows and rows["out"]["default"] == "-" and "out" not in given:
        return _rows_of(text)
    result = Result()
    result.text = text
    return result


def _call(program, path, name, rows, arguments, progress, options):
    with contextlib.ExitStack() as kept:
        @functools.lru_cache(maxsize=None)
        def folder():
            return kept.enter_context(tempfile.TemporaryDirectory(prefix="sotto-"))

        result = _result_of(program, path, rows, _given(name, rows, arguments, options), folder, progress)
        if isinstance(result, Run):  # which keeps its model, and the samples that it was trained on
            weakref.finalize(result, kept.pop_all().close)
        return result


def _result_of(program, path, rows, given, folder, progress):
    is_simulation = path[-1] == "simulate" and "model_out" in rows
    if "json" in rows:
        given.setdefault("json", "-")
    if is_simulation and given.get("seeds") is None:
        given.setdefault("model_out", os.path.join(folder(), "model.f32"))
    for value in list(given.values()):  # a run as the trained model of another command
        if isinstance(value, Run) and "model" in rows:
            given.setdefault("model", value["job"]["model"])
    words = [word for key, row in rows.items() if key in given for word in _words(row, given[key], folder)]
    status, text, log, failure = _run([program, *path, "--errors", "json", *words], progress)
    result = _read(given, rows, is_simulation, text)
    result.log = log
    if status != 0:
        option = (failure.get("option") or "").lstrip("-").replace("-", "_")
        why = failure.get("error") or (log[-1] if log else f"the program ended with status {status}")
        raise Error(why, option or None, failure.get("advice"), status, result or None, log)
    if is_simulation and given.get("model_out"):
        result.model_out = str(given["model_out"])
    return result


def _function(program, path, name, command, common):
    rows = {_keyword(row): row for row in command["options"] + common}

    def function(*arguments, progress=None, **options):
        return _call(program, path, name, rows, arguments, progress, options)

    kinds = inspect.Parameter
    parameters = [kinds(key, kinds.POSITIONAL_OR_KEYWORD if row["argument"] else kinds.KEYWORD_ONLY,
                        default=row["default"], annotation=_TYPES[row["type"]]) for key, row in rows.items()]
    parameters.sort(key=lambda parameter: parameter.kind)
    function.__signature__ = inspect.Signature(parameters + [kinds("progress", kinds.KEYWORD_ONLY, default=None)])
    function.__name__, function.__qualname__ = path[-1], name
    function.__doc__ = "\n".join([command["help"], "", *map(_describe, rows.values())])
    return function


def _members(program, path, name, commands, common):
    """Commands by their names: functions, and groups of functions, or both in one."""
    members = {}
    for command in commands:
        if command["hidden"] or command["name"] == "options":
            continue
        word = command["name"].replace("-", "_")
        word += "_" if keyword.iskeyword(word) else ""
        inner_path, inner_name = [*path, command["name"]], f"{name}.{word}"
        inner = _members(program, inner_path, inner_name, command["commands"], common)
        member = (_function(program, inner_path, inner_name, command, common) if command["runs"] else
                  types.ModuleType(inner_name, command["help"]))
        vars(member).update(inner, __all__=list(inner))
        members[word] = member
    return members


@functools.lru_cache(maxsize=None)
def _tree(program, name):
    table = _commands_of(program)
    tree = types.ModuleType(name, f"The commands of {table['program']}, version {table['version']}.")
    common = [row for row in table["options"] if row["name"] != "errors"]
    members = _members(program, [], name, table["commands"], common)
    vars(tree).update(members, __all__=list(members))
    return tree


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'sotto' has no attribute {name!r}")
    if name == "lab":
        return _tree(_find("sotto-lab"), "sotto.lab")
    commands = vars(_tree(_find("sotto"), "sotto"))
    if name not in commands:
        raise AttributeError(f"sotto has no command {name!r}; " +
                             _nearest(name, commands, "`sotto --help` lists them"))
    return commands[name]


def __dir__():
    try:
        return [*globals(), "lab", *vars(_tree(_find("sotto"), "sotto"))]
    except Error:
        return list(globals())
