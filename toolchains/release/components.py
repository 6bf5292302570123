#!/usr/bin/env python3
"""Lists what of others is in a release's files: a CycloneDX list of components, and the texts of their licences.

COMPONENTS is the one list. The version comes from the source in build/cache or from the Debian package that the build
took; the licence's text comes from the same place. A file of the release that no pattern knows is an error.
"""
import argparse
import dataclasses
import datetime
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid


@dataclasses.dataclass
class Component:
    name: str
    license: str  # SPDX's expression
    package: str  # Debian's, whose copyright file has the licence's text
    url: str
    source: str = ""  # folder's name in build/cache, if the files below are built from that
    files: tuple = ()  # patterns of the release's files that contain it


SDK = ("sotto-sdk-*.tar.gz", "sotto-arduino-*.zip")
CLIENT = ("sotto-client-*.tar.gz",)
TAB = ("sotto-tab-*.html",)
WHEEL = ("sotto-*linux*.whl",)
PROGRAMS = ("sotto_*.deb", "sotto-lab_*.deb", "sotto-client_*.deb")

# Parts of Mbed TLS and nanopb are inside the SDK's files; Debian's packages link the system's shared libraries, and
# contain what is headers alone.
COMPONENTS = [
    Component("mbedtls", "Apache-2.0", "libmbedtls-dev", "https://github.com/Mbed-TLS/mbedtls", "mbedtls-2.28",
              SDK + CLIENT + TAB),
    Component("mbedtls", "Apache-2.0", "libmbedtls-dev", "https://github.com/Mbed-TLS/mbedtls", "", WHEEL),
    Component("nanopb", "Zlib", "nanopb", "https://github.com/nanopb/nanopb", "nanopb-0.4.7", SDK + CLIENT + TAB),
    Component("nanopb", "Zlib", "nanopb", "https://github.com/nanopb/nanopb", "", WHEEL + PROGRAMS + ("libsotto-dev_*.deb",)),
    Component("eigen", "MPL-2.0", "libeigen3-dev", "https://gitlab.com/libeigen/eigen", "",
              CLIENT + WHEEL + PROGRAMS),
    Component("fmt", "MIT", "libfmt-dev", "https://github.com/fmtlib/fmt", "", CLIENT + TAB + WHEEL + PROGRAMS),
    Component("CLI11", "BSD-3-Clause", "libcli11-dev", "https://github.com/CLIUtils/CLI11", "",
              CLIENT + TAB + WHEEL + PROGRAMS),
    Component("tomlplusplus", "MIT", "libtomlplusplus-dev", "https://github.com/marzer/tomlplusplus", "",
              CLIENT + TAB + WHEEL + PROGRAMS),
    Component("nlohmann-json", "MIT", "nlohmann-json3-dev", "https://github.com/nlohmann/json", "",
              CLIENT + TAB + WHEEL + PROGRAMS),
    Component("zlib", "Zlib", "zlib1g-dev", "https://zlib.net", "zlib-1.2.13", CLIENT + TAB),
    Component("zlib", "Zlib", "zlib1g-dev", "https://zlib.net", "", WHEEL),
    Component("libcsv", "LGPL-2.1-or-later", "libcsv-dev", "https://github.com/rgamble/libcsv", "libcsv-3.0.3",
              CLIENT + TAB),
    Component("libcsv", "LGPL-2.1-or-later", "libcsv-dev", "https://github.com/rgamble/libcsv", "", WHEEL),
    Component("kissfft", "BSD-3-Clause", "libkissfft-dev", "https://github.com/mborgerding/kissfft", "kissfft-131.1.0",
              TAB + WHEEL),
    Component("libsodium", "ISC", "libsodium-dev", "https://github.com/jedisct1/libsodium", "", WHEEL),
    Component("sqlite", "blessing", "libsqlite3-dev", "https://sqlite.org", "", WHEEL),
    Component("libuv", "MIT", "libuv1-dev", "https://github.com/libuv/libuv", "", WHEEL),
    Component("libzip", "BSD-3-Clause", "libzip-dev", "https://libzip.org", "libzip-1.7.3", WHEEL),
    Component("uplot", "MIT", "", "https://github.com/leeoniya/uPlot", "uplot-1.6.32", WHEEL + ("sotto_*.deb",)),
    Component("emscripten", "MIT OR NCSA", "emscripten", "https://github.com/emscripten-core/emscripten", "", TAB),
    Component("glibc", "LGPL-2.1-or-later", "libc6-dev", "https://sourceware.org/glibc", "", CLIENT + WHEEL),
    Component("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "g++", "https://gcc.gnu.org", "",
              CLIENT + WHEEL),
]

# Files of a release without a line of others' code, or with own lists.
OWN = ("sotto-[0-9]*.tar.gz", "sotto-*-py3-none-any.whl", "sotto-doc_*.deb", "NOTES.md", "licenses.txt", "*.cdx.json")


class Refusal(Exception):
    """A message for the person who called the script."""


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def upstream(version):
    """A package's version without Debian's additions."""
    return re.sub(r"-[^-]*$", "", re.sub(r"^\d+:", "", version))


def version_of(component, cache):
    if component.source:
        if not (cache / component.source).is_dir():
            raise Refusal(f"{component.name}: there is no {cache / component.source}; fetch it with "
                          "toolchains/fetch-source.sh")
        return component.source.rsplit("-", 1)[1]
    query = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", component.package], capture_output=True, text=True)
    if query.returncode or not query.stdout:
        raise Refusal(f"{component.name}: the package {component.package} is not installed")
    return upstream(query.stdout)


def license_text(component, cache):
    if component.source:
        for name in ("LICENSE", "LICENSE.txt", "COPYING", "COPYING.LESSER", "COPYING.txt"):
            path = cache / component.source / name
            if path.is_file():
                return path.read_text(encoding="utf-8", errors="replace")
    path = pathlib.Path("/usr/share/doc") / (component.package or "-") / "copyright"
    if path.is_file():
        return path.read_text(encoding="utf-8", errors="replace")
    raise Refusal(f"{component.name}: there is no text of its licence")


def cyclonedx(version, files, used, moment):
    """files: name -> SHA-256. used: list of (Component, version, names of files)."""
    def reference(component, found):
        return f"pkg:generic/{component.name.lower()}@{found}"

    parts = {}
    for component, found, names in used:
        ref = reference(component, found)
        parts.setdefault(ref, {
            "type": "library", "bom-ref": ref, "name": component.name, "version": found,
            "licenses": [license_choice(component.license)], "purl": ref,
            "externalReferences": [{"type": "website", "url": component.url}]})
    depends = {name: sorted({reference(c, found) for c, found, names in used if name in names}) for name in files}
    identity = hashlib.sha256(json.dumps([version, files], sort_keys=True).encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}", "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {"type": "application", "bom-ref": "sotto", "name": "sotto", "version": version,
                          "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [
            {"type": "file", "bom-ref": name, "name": name, "version": version,
             "hashes": [{"alg": "SHA-256", "content": digest}]} for name, digest in sorted(files.items())
        ] + [parts[ref] for ref in sorted(parts)],
        "dependencies": [{"ref": "sotto", "dependsOn": sorted(files)}]
        + [{"ref": name, "dependsOn": depends[name]} for name in sorted(files)]
        + [{"ref": ref} for ref in sorted(parts)],
    }


def license_choice(expression):
    return {"expression": expression} if " " in expression else {"license": {"id": expression}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("version")
    parser.add_argument("folder", type=pathlib.Path, help="with the files of the release")
    parser.add_argument("cache", type=pathlib.Path, help="with the sources of others: build/cache")
    parser.add_argument("--licenses", type=pathlib.Path, required=True)
    parser.add_argument("--cyclonedx", type=pathlib.Path, required=True)
    options = parser.parse_args()
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    try:
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(options.folder.iterdir())
                 if path not in (options.licenses, options.cyclonedx)}
        patterns = OWN + tuple(pattern for component in COMPONENTS for pattern in component.files)
        for name in files:
            if not matches(name, patterns):
                raise Refusal(f"components.py does not know what is in {name}: add it to COMPONENTS or OWN")
        used = []
        for component in COMPONENTS:
            names = [name for name in files if matches(name, component.files)]
            if names:
                used.append((component, version_of(component, options.cache), names))
        texts = []
        for component, found, names in used:
            texts.append(f"{'=' * 78}\n{component.name} {found}, {component.license}\n{component.url}\nin: "
                         f"{', '.join(names)}\n{'=' * 78}\n\n{license_text(component, options.cache).rstrip()}\n\n")
        root = pathlib.Path(__file__).resolve().parents[2]
        own = (root / "LICENSE").read_text(encoding="utf-8")
        options.licenses.write_text(f"Sotto {options.version}, Apache-2.0\n\n{own.rstrip()}\n\n" + "".join(texts),
                                    encoding="utf-8")
        bom = cyclonedx(options.version, files, used, moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        options.cyclonedx.write_text(json.dumps(bom, indent=1) + "\n", encoding="utf-8")
    except (Refusal, OSError) as error:
        print(f"components.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
