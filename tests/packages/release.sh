#!/usr/bin/env bash
# release.sh SOURCE_DIR WORK_DIR
# toolchains/release/release.sh in a clone: the archives of two builds in two folders are the same bytes, the list of
# components is whole, what must be refused is refused, and a prepared version stands in all files that say it.
# Other tests cover the parts that compile programs. Skipped, 77, outside a Git checkout or without sources.
set -euo pipefail
source_dir="$1" work="$2"
git -C "${source_dir}" rev-parse HEAD > /dev/null 2>&1 || {
  echo 'skipped: not a Git checkout'
  exit 77
}
for source in nanopb-0.4.7 mbedtls-2.28; do
  [[ -d "${source_dir}/build/cache/${source}" ]] || {
    echo "skipped: no build/cache/${source} (tests/run.sh --all fetches it)"
    exit 77
  }
done
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
fail() {
  echo "FAILED: $1"
  exit 1
}
clone() {
  git clone --quiet --no-hardlinks "${source_dir}" "$1"
  git -C "$1" config user.name test
  git -C "$1" config user.email test@invalid
  mkdir -p "$1/build"
  ln -s "${source_dir}/build/cache" "$1/build/cache"
}
# refused TEXT COMMAND...
refused() {
  local said
  ! said="$("${@:2}" 2>&1)" || fail "not refused: ${*:2}"
  grep -qF "$1" <<< "${said}" || fail "'$1' is not in: ${said}"
}

clone one
clone elsewhere/two
release=toolchains/release/release.sh
version="$(sed -nE 's/.*kVersion\[\] = "([^"]+)";$/\1/p' one/sdk/include/sotto/version.h)"
snapshot=()
[[ "${version}" != *-dev ]] || snapshot=(--snapshot)
one/${release} build first --parts source,sdk "${snapshot[@]}" > first.log
sleep 1 # another second of the clock
(umask 027 && elsewhere/two/${release} build second --parts source,sdk "${snapshot[@]}" > second.log)
diff first/SHA256SUMS second/SHA256SUMS || fail 'two builds differ'
one/${release} check first | grep -q 'have the sums' || fail 'the check of a release'
[[ "$(head -n 1 first/NOTES.md)" == "## ${version%-dev}"* ]] || fail 'the notes'
[[ "$(grep -c '^## ' first/NOTES.md)" == 1 ]] || fail 'the notes have another version, too'
python3 - "${version}" << 'END' || fail 'the list of components'
import hashlib
import json
import pathlib
import sys

folder = pathlib.Path("first")
bom = json.loads((folder / f"sotto-{sys.argv[1]}.cdx.json").read_text())
assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.5"
assert bom["metadata"]["component"]["version"] == sys.argv[1]
components = {component["bom-ref"]: component for component in bom["components"]}
assert len(components) == len(bom["components"])
files = {name: c["hashes"][0]["content"] for name, c in components.items() if c["type"] == "file"}
for name, digest in files.items():
    assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
depends = {entry["ref"]: entry.get("dependsOn", []) for entry in bom["dependencies"]}
assert set(depends) == set(components) | {"sotto"}
assert all(ref in components for refs in depends.values() for ref in refs)
sdk = depends[f"sotto-sdk-{sys.argv[1]}.tar.gz"]
assert sdk == ["pkg:generic/mbedtls@2.28", "pkg:generic/nanopb@0.4.7"], sdk
licenses = (folder / "licenses.txt").read_text()
for component in components.values():
    if component["type"] == "library":
        assert component["licenses"] and f"{component['name']} {component['version']}" in licenses, component["name"]
END
echo more >> first/NOTES.md
refused 'NOTES.md: FAILED' one/${release} check first

refused 'is not empty' one/${release} build first --parts source
refused "there is no part 'sources'" one/${release} build third --parts sources
refused 'files are changed that are not committed' bash -c "touch one/new && one/${release} build third --parts source"
rm one/new
one/${release} prepare 9.8.7-dev > prepared.log
git -C one commit --quiet --all --message 'A version under way'
refused 'the version is 9.8.7-dev' one/${release} build third --parts source
one/${release} prepare 9.8.7 2030-01-02 >> prepared.log
git -C one commit --quiet --all --message 'A version'
refused 'has no samples of 9.8.7' one/${release} build third --parts source
for place in sdk/include/sotto/version.h:'"9.8.7"' toolchains/package/python/sotto.py:'"9.8.7"' \
  debian/changelog:'sotto (9.8.7) unstable' debian/changelog:'Wed, 02 Jan 2030' CHANGELOG.md:'## 9.8.7 - 2030-01-02'; do
  grep -qF "${place#*:}" "one/${place%%:*}" || fail "${place%%:*} does not say ${place#*:}"
done
refused "is no version" one/${release} prepare 9.8
echo 'ok'
