#!/usr/bin/env python3
"""Packs the SDK for other build systems: an archive that compiles as it is, and an Arduino library.

sdk/sources.cmake, the public headers and the files of toolchains/package decide their contents. The
messages' C code is generated; nanopb and the two functions of Mbed TLS that
the SDK calls come along under other names (sotto_pb_..., sotto_mbedtls_...), so a firmware may have a
nanopb and an Mbed TLS beside them. The same sources give the same bytes.
"""
import argparse
import collections
import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "toolchains/package"
MODELS = TEMPLATES / "models"
NANOPB = "nanopb-0.4.7"
MBEDTLS = "mbedtls-2.28"

# The public headers of what needs a whole Mbed TLS.
TLS_HEADERS = ["sotto/secure_link.h", "sotto/tls.h", "sotto/tls_tickets.h", "sotto_c_link.h"]

# The named models of up to 10,000 parameters: the archive has their headers for C.
C_MODELS = ["softmax-784-10", "softmax-64-10", "softmax-784-10-q", "softmax-64-10-q", "small-cnn", "small-cnn-q",
            "char-lstm-small", "ova-logistic", "motion"]

# Files of others, and the headers in which they declare what a linker sees.
NANOPB_FILES = ["pb.h", "pb_common.c", "pb_common.h", "pb_decode.c", "pb_decode.h", "pb_encode.c", "pb_encode.h"]
MBEDTLS_FILES = [
    "library/chacha20.c", "library/common.h", "library/platform_util.c", "library/sha256.c",
    "include/mbedtls/chacha20.h", "include/mbedtls/error.h", "include/mbedtls/platform.h",
    "include/mbedtls/platform_time.h", "include/mbedtls/platform_util.h", "include/mbedtls/sha256.h",
    "include/mbedtls/threading.h", "include/mbedtls/version.h",
]


class Refusal(Exception):
    """A message for the person who called the script."""


def read(path):
    return path.read_text(encoding="utf-8")


def version():
    return re.search(r'kVersion[^"]*"([^"]+)"', read(ROOT / "sdk/include/sotto/version.h")).group(1)


def sources(name):
    """The list of that name in sdk/sources.cmake, as paths below sdk/src."""
    text = re.search(r"set\(" + name + r"\n(.*?)\)", read(ROOT / "sdk/sources.cmake"), re.S).group(1)
    return [line.strip().removeprefix("src/") for line in text.split()]


def private_headers(folders):
    """What the sources of these folders of sdk/src include beside them."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / "sdk/src" / folder).iterdir()):
            if path.suffix in (".h", ".inc"):
                found[f"{folder}/{path.name}"] = read(path)
    return found


def declared_functions(headers, prefix):
    """The functions that C headers declare: their names begin with the prefix."""
    names = set()
    for text in headers:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
        text = re.sub(r"^ *#(?:[^\n]*\\\n)*[^\n]*", ";", text, flags=re.M)
        names.update(re.findall(r"\b(" + prefix + r"\w+)\s*\([^;{}]*\)\s*(?:MBEDTLS_\w+\s*)?;", text))
    return sorted(names)


def renaming_header(what, names):
    lines = [f"/* Other names for the functions of {what}: a firmware may have another copy of it. */",
             "#pragma once", ""]
    lines += [f"#define {name} sotto_{name}" for name in names]
    return "\n".join(lines) + "\n"


def nanopb_copy(folder):
    """nanopb as files of third_party/nanopb."""
    files = {name: read(folder / name) for name in NANOPB_FILES}
    names = declared_functions([files[name] for name in NANOPB_FILES if name.endswith(".h")], "pb_")
    files["names.h"] = renaming_header("nanopb", names)
    files["pb.h"] = '#include "names.h"\n' + files["pb.h"]
    return {f"third_party/nanopb/{name}": text for name, text in files.items()}


def mbedtls_copy(folder):
    """ChaCha20 and SHA-256 of Mbed TLS as files of third_party/mbedtls."""
    files = {path.rsplit("/", 1)[1]: read(folder / path) for path in MBEDTLS_FILES}
    defined = [name for name in files if name.replace(".h", ".c") in files and name.endswith(".h")]
    names = declared_functions([files[name] for name in defined], "mbedtls_")
    config = read(ROOT / "sdk/src/crypto/mbedtls_config.h")
    for name in files:
        files[name] = re.sub(r'#include "mbedtls/(\w+\.h)"', r'#include "\1"', files[name])
        files[name] = files[name].replace('#include "config.h"', '#include "sotto_config.h"')
        files[name] = files[name].replace("#include MBEDTLS_CONFIG_FILE", '#include "sotto_config.h"')
    files["sotto_config.h"] = config.rstrip("\n") + '\n\n#include "names.h"\n'
    files["names.h"] = renaming_header("Mbed TLS", names)
    return {f"third_party/mbedtls/{name}": text for name, text in files.items()}


def own_includes(text):
    """The SDK's source with the copies of nanopb and Mbed TLS in place of installed ones."""
    text = re.sub(r"#include <(pb\w*\.h)>", r'#include "third_party/nanopb/\1"', text)
    return re.sub(r"#include <mbedtls/(\w+\.h)>", r'#include "third_party/mbedtls/\1"', text)


def python_with_protobuf():
    """The Python that runs nanopb's generator. Debian's has the package; another one may come first in PATH."""
    for python in ("/usr/bin/python3", sys.executable):
        if shutil.which(python) and subprocess.run([python, "-c", "import google.protobuf"],
                                                   stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    raise Refusal("nanopb's generator needs protobuf for Python; install it: apt-get install python3-protobuf")


def run_generator(work, message):
    if not shutil.which("protoc"):
        raise Refusal("nanopb's generator needs protoc; install it: apt-get install protobuf-compiler")
    done = subprocess.run(
        [python_with_protobuf(), f"{work}/generator/nanopb_generator.py", "--quiet", "--no-timestamp",
         "-L", '#include "third_party/nanopb/%s"', "-I", str(ROOT / "sdk/src/wire"), "-D", work,
         f"{message}.proto"], cwd=ROOT / "sdk/src/wire", text=True, capture_output=True, check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"})
    if done.returncode != 0:
        raise Refusal(f"nanopb's generator failed on sdk/src/wire/{message}.proto:\n{done.stdout}{done.stderr}")


def generated_messages(nanopb):
    """sotto.pb.c and so on, by nanopb's generator from the pinned sources."""
    files = {}
    with tempfile.TemporaryDirectory() as work:
        # The generator writes Python beside itself.
        shutil.copytree(nanopb / "generator", f"{work}/generator")
        for message in ("sotto", "peer"):
            run_generator(work, message)
            for suffix in (".pb.c", ".pb.h"):
                files[f"wire/{message}{suffix}"] = read(pathlib.Path(work) / (message + suffix))
    return files


def public_headers():
    include = ROOT / "sdk/include"
    return {str(p.relative_to(include)): read(p) for p in sorted(include.rglob("*.h"))}


def sdk_sources(cache):
    """Everything below src: nothing else is needed to compile it."""
    nanopb = cache / NANOPB
    names = sources("sotto_sdk_sources")
    files = {name: text for name, text in public_headers().items() if name not in TLS_HEADERS}
    files.update({name: read(ROOT / "sdk/src" / name) for name in names})
    files.update(private_headers(sorted({name.split("/")[0] for name in names})))
    files.pop("crypto/mbedtls_config.h")
    files = {name: own_includes(text) for name, text in files.items()}
    files.update(generated_messages(nanopb))
    files.update(nanopb_copy(nanopb))
    files.update(mbedtls_copy(cache / MBEDTLS))
    return with_own_stems(files)


def tls_sources():
    """What a device needs for TLS, below tls: it includes the headers of a whole Mbed TLS."""
    names = sources("sotto_tls_sources")
    files = {name: text for name, text in public_headers().items() if name in TLS_HEADERS}
    files.update({name: read(ROOT / "sdk/src" / name) for name in names})
    shared = {name.split("/")[0] for name in sources("sotto_sdk_sources")}  # src has their headers
    files.update(private_headers(sorted({name.split("/")[0] for name in names} - shared)))
    return files


def is_source(name):
    return name.endswith((".c", ".cc"))


def with_own_stems(files):
    """Puts its folder before the name of a source that shares its stem with another one: many an IDE puts all objects
    into one folder."""
    def stem(name):
        return name.rsplit("/", 1)[1].split(".")[0]
    count = collections.Counter(stem(name) for name in files if is_source(name))
    def own(name):
        folder, file = name.rsplit("/", 1)
        return f"{folder}/{folder.rsplit('/', 1)[-1]}_{file}"
    return {own(name) if is_source(name) and count[stem(name)] > 1 else name: text for name, text in files.items()}


def below(folder, files):
    return {f"{folder}/{name}": text for name, text in files.items()}


def tree(folder, suffixes=(".h", ".cc", ".txt", ".md", ".ino", ".c", ".yml", ".json", ".properties", ".in", "")):
    """The files below a folder of the project, by their paths in it."""
    return {str(p.relative_to(ROOT / folder)): read(p) for p in sorted((ROOT / folder).rglob("*"))
            if p.is_file() and p.suffix in suffixes}


def licences(cache):
    return {"LICENSE": read(ROOT / "LICENSE"),
            "licences/nanopb.txt": read(cache / NANOPB / "LICENSE.txt"),
            "licences/mbedtls.txt": read(cache / MBEDTLS / "LICENSE")}


def source_list(src, tls):
    """sources.cmake of the archive."""
    def listed(name, folder, files):
        lines = [f"  {folder}/{file}" for file in files if is_source(file)]
        return f"set({name}\n" + "\n".join(lines) + ")\n"
    return ("# What is compiled. The paths are relative to the archive's folder.\n" +
            listed("sotto_sdk_sources", "src", src) + listed("sotto_tls_sources", "tls", tls))


def sdk_archive(cache):
    """The files of sotto-sdk-VERSION.tar.gz."""
    src, tls = sdk_sources(cache), tls_sources()
    files = below("src", src)
    files.update(below("tls", tls))
    files["sources.cmake"] = source_list(src, tls)
    files.update(below("conformance", tree("ports/conformance", (".h", ".cc"))))
    files.update(below("port", tree("ports/template", (".h", ".cc"))))
    for example in ("local_round", "minimal", "minimal_c"):
        files.update(below(f"examples/{example}", tree(f"examples/{example}", (".h", ".c", ".cc"))))
    files.update(below("models", tree("toolchains/package/models")))
    files.update(tree("toolchains/package/sdk"))
    files.update(licences(cache))
    return filled_in(files)


def filled_in(files):
    numbers = version().split("-")[0]
    return {name: text.replace("@VERSION@", version()).replace("@NUMBERS@", numbers) for name, text in files.items()}


def arduino_library(cache):
    """The files of the Arduino library: sources are named .cpp there."""
    files = {re.sub(r"\.cc$", ".cpp", name): text for name, text in below("src", sdk_sources(cache)).items()}
    files.update(tree("toolchains/package/arduino"))
    files["examples/LocalRound/local_round.h"] = read(ROOT / "examples/local_round/local_round.h")
    files.update(licences(cache))
    return filled_in(files)


def tar_gz(folder, files):
    """Bytes that depend on the files alone."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            data = files[name].encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    packed = io.BytesIO()  # gzip.compress() writes another header in another version of Python
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as out:
        out.write(raw.getvalue())
    return packed.getvalue()


def zip_file(folder, files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])
    return raw.getvalue()


def packages():
    """Of each package its file's name and the function that makes its bytes of the cache."""
    name = f"sotto-sdk-{version()}"
    return {f"{name}.tar.gz": lambda cache: tar_gz(name, sdk_archive(cache)),
            f"sotto-arduino-{version()}.zip": lambda cache: zip_file("Sotto", arduino_library(cache))}


def write(folder, cache):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in packages().items():
        (folder / name).write_bytes(make(cache))
        print(folder / name)


def check(folder, cache):
    """Whether the folder's packages are those that this checkout makes."""
    for name, make in packages().items():
        path = folder / name
        if not path.exists():
            raise Refusal(f"{path} is missing; make it: toolchains/package.py --out {folder}")
        if path.read_bytes() != make(cache):
            raise Refusal(f"{path} is not what this checkout makes; make it anew: "
                          f"toolchains/package.py --out {folder}")
        print(f"{path}: as this checkout makes it")


def write_models(sotto):
    """toolchains/package/models, the models' headers for C, by the program `sotto`."""
    MODELS.mkdir(exist_ok=True)
    for path in MODELS.glob("*.h"):
        path.unlink()
    for name in C_MODELS:
        done = subprocess.run([sotto, "model", "show", name, "--c", "--batch-size", "16"], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Refusal(f"{sotto} model show {name} --c failed: {done.stderr.strip()}")
        path = MODELS / f"model_{name.replace('-', '_')}.h"
        path.write_text(done.stdout, encoding="utf-8")
        print(path)


def check_cache(cache):
    for name in (NANOPB, MBEDTLS):
        if not (cache / name).is_dir():
            raise Refusal(f"there is no {cache / name}; fetch it: {ROOT / 'toolchains/fetch-source.sh'} {cache} "
                          "bookworm mbedtls=2.28 nanopb=0.4.7")


def arguments():
    parser = argparse.ArgumentParser(
        description="Packs the SDK: sotto-sdk-VERSION.tar.gz compiles with any compiler of C++17, and is a "
        "package of PlatformIO, a component of ESP-IDF and a module of Zephyr; sotto-arduino-VERSION.zip is a "
        "library of Arduino. The same sources give the same bytes. Needs the sources of nanopb and Mbed TLS, and "
        "protobuf for nanopb's generator (Debian: python3-protobuf, protobuf-compiler).")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/packages",
                        help="folder for the packages (default: build/packages of this checkout)")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/cache",
                        help=f"folder with the sources {NANOPB} and {MBEDTLS}, as toolchains/fetch-source.sh "
                        "puts them there (default: build/cache of this checkout)")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if the packages in --out are missing, or are not those that this "
                        "checkout makes")
    parser.add_argument("--models", metavar="SOTTO",
                        help="write no packages, but toolchains/package/models anew, with the program SOTTO "
                        "(build/host/bin/sotto): after a change of a named model")
    return parser.parse_args()


def main():
    options = arguments()
    try:
        if options.models:
            write_models(options.models)
            return 0
        check_cache(options.cache)
        (check if options.check else write)(options.out, options.cache)
    except (Refusal, OSError) as error:
        print(f"package.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
