"""manifests.py PACKAGES: what the specifications of Arduino, PlatformIO, ESP-IDF and Zephyr ask of the manifests in the two
packages of that folder, and that nothing in a package tells who made it, where or when."""
import getpass
import json
import pathlib
import re
import socket
import sys
import tarfile
import zipfile

SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
CATEGORIES = ["Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage",
              "Data Processing", "Other"]


def expect(what, holds):
    if not holds:
        sys.exit(f"manifests.py: wrong: {what}")


def read_tar(path):
    files = {}
    with tarfile.open(path) as archive:
        for entry in archive:
            expect(f"{entry.name} tells nothing", entry.isreg() and entry.mtime == 0 and entry.mode == 0o644 and
                   (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", ""))
            files[entry.name.split("/", 1)[1]] = archive.extractfile(entry).read().decode()
    return files


def read_zip(path):
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            expect(f"{entry.filename} tells nothing", entry.date_time == (1980, 1, 1, 0, 0, 0))
        return {name.split("/", 1)[1]: archive.read(name).decode() for name in archive.namelist()}


def check_texts(files):
    places = [str(pathlib.Path(__file__).resolve().parents[2]), socket.gethostname(), f"/home/{getpass.getuser()}"]
    for name, text in files.items():
        for place in places:
            expect(f"{name} names {place}", len(place) < 4 or place not in text)
        expect(f"{name} has a mark of a template", not re.search(r"@[A-Z]+@", text))


def check_arduino(files):
    lines = [line for line in files["library.properties"].splitlines() if not line.startswith("#")]
    fields = dict(line.split("=", 1) for line in lines)
    expect("its fields", set(fields) == {"name", "version", "author", "maintainer", "sentence", "paragraph", "category",
                                         "url", "architectures", "includes"})
    expect("a field is empty", all(fields.values()))
    expect("name", re.fullmatch(r"[A-Za-z][A-Za-z0-9 _.-]{0,62}", fields["name"]) is not None)
    expect("version", SEMVER.fullmatch(fields["version"]) is not None)
    expect("category", fields["category"] in CATEGORIES)
    expect("url", re.fullmatch(r"https?://\S+", fields["url"]) is not None)
    expect("includes", f"src/{fields['includes']}" in files)
    for sketch in (name for name in files if name.endswith(".ino")):
        folder, file = sketch.split("/")[-2:]
        expect(f"{sketch} has its folder's name", file == f"{folder}.ino")
    for line in files["keywords.txt"].splitlines():
        expect(f"keywords.txt: {line}", re.fullmatch(r"\w+\t(KEYWORD[12]|LITERAL1)", line) is not None)


def check_platformio(files):
    fields = json.loads(files["library.json"])
    expect("its fields", {"name", "version", "description", "keywords"} <= set(fields))
    expect("version", SEMVER.fullmatch(fields["version"]) is not None and len(fields["version"]) <= 20)
    expect("lengths", len(fields["name"]) <= 50 and len(fields["description"]) <= 255)
    for keyword in fields["keywords"]:
        expect(f"keyword {keyword}", re.fullmatch(r"[a-z0-9]([a-z0-9._+-]*[a-z0-9])?", keyword) is not None)
    for header in fields["headers"]:
        expect(f"header {header}", f"{fields['build']['includeDir']}/{header}" in files)
    expect("srcDir", any(name.startswith(fields["build"]["srcDir"] + "/") for name in files))


def check_idf_and_zephyr(files):
    keys = set(re.findall(r"^(\w+):", files["idf_component.yml"], re.M))
    expect("idf_component.yml: its keys", keys <= {"version", "description", "license", "dependencies"})
    version = re.search(r'^version: "(.*)"$', files["idf_component.yml"], re.M)
    expect("idf_component.yml: version", SEMVER.fullmatch(version.group(1)) is not None)
    module = dict(re.findall(r"^ *(\w+): *(\S+)$", files["zephyr/module.yml"], re.M))
    expect("module.yml: cmake", f"{module['cmake']}/CMakeLists.txt" in files)
    expect("module.yml: kconfig", module["kconfig"] in files)


def main():
    folder = pathlib.Path(sys.argv[1])
    sdk = read_tar(next(folder.glob("sotto-sdk-*.tar.gz")))
    arduino = read_zip(next(folder.glob("sotto-arduino-*.zip")))
    check_texts(sdk)
    check_texts(arduino)
    check_arduino(arduino)
    check_platformio(sdk)
    check_idf_and_zephyr(sdk)


main()
