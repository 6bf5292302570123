#!/usr/bin/env bash
# Makes a release: the files that people download, with their checksums, licences and list of components.
# shellcheck disable=SC2317  # build calls make_PART by name
set -euo pipefail

usage() {
  cat << 'END'
Usage: toolchains/release/release.sh prepare VERSION [DATE]
       toolchains/release/release.sh build OUT [--parts PART,...] [--snapshot]
       toolchains/release/release.sh check OUT

prepare  writes VERSION (0.3.0, or 0.3.0-dev after a release) into the files that say it, with the day's DATE
         (2026-11-29; default: today) into the changelogs. Look at `git diff`, run tests/run.sh --all, commit.
build    makes the release of the last commit in the new folder OUT. The same commit gives the same bytes, wherever
         it is built, if the packages of the system are the same (Debian 12 for the releases).
check    verifies the files of OUT by SHA256SUMS.

Parts, all unless --parts names some:
  source    sotto-VERSION.tar.gz: this repository
  sdk       sotto-sdk-VERSION.tar.gz, sotto-arduino-VERSION.zip: the device's library, for firmware
  tab       sotto-tab-VERSION.html: a fleet in a browser
  clients   sotto-client-VERSION-linux-ARCH.tar.gz: a Linux machine as a device, static, for amd64, arm64, armhf
  wheel     sotto-VERSION-py3-none-....whl: the simulator and the accountants, from Python
  packages  Debian's packages of this machine's release and CPU
Every release also has licenses.txt, sotto-VERSION.cdx.json (a CycloneDX list of what is inside), NOTES.md (its
section of CHANGELOG.md) and SHA256SUMS.

--snapshot  of a version that ends in -dev, for a trial
END
}

fail() {
  echo "release.sh: $1" >&2
  exit 1
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "${here}/../.." && pwd)"
ALL_PARTS=(source sdk tab clients wheel packages)

version_of() { sed -nE 's/.*kVersion\[\] = "([^"]+)";$/\1/p' "$1/sdk/include/sotto/version.h"; }

prepare() {
  local version="$1" day="${2-$(date -u +%F)}" debian former
  [[ "${version}" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-dev)?$ ]] || fail "'${version}' is no version such as 0.3.0 or 0.3.0-dev"
  date -u -d "${day}" > /dev/null 2>&1 || fail "'${day}' is no date such as 2026-11-29"
  former="$(version_of "${root}")"
  sed -i "s/kVersion\[\] = \".*\"/kVersion[] = \"${version}\"/" "${root}/sdk/include/sotto/version.h"
  sed -i "s/^__version__ = \".*\"/__version__ = \"${version}\"/" "${root}/toolchains/package/python/sotto.py"
  sed -i "s/sotto-sdk-${former}\.tar/sotto-sdk-${version}.tar/" "${root}/sdk/DEVICE.md"
  sed -i "s/^Sotto ${former} on /Sotto ${version} on /" "${root}/examples/bring_up/README.md"
  sed -i -E "s/^(find_package\(sotto )[0-9.]+ /\1${version%.*} /" \
    "${root}/sdk/DEVICE.md" "${root}/tests/policy/consumer/CMakeLists.txt"
  debian="${version/-/\~}"
  sed -i "1s/.*/sotto (${debian}) $([[ "${version}" == *-dev ]] && echo UNRELEASED || echo unstable); urgency=medium/
    s/^\( -- .*>  \).*/\1$(LC_ALL=C date -u -d "${day} 08:00" '+%a, %d %b %Y %H:%M:%S +0000')/" "${root}/debian/changelog"
  if [[ "${version}" == *-dev ]]; then
    [[ "$(sed -nE '/^## /{s/^## //p;q}' "${root}/CHANGELOG.md")" == "${version%-dev}"* ]] ||
      sed -i "0,/^## /s//## ${version%-dev} (unreleased)\n\n## /" "${root}/CHANGELOG.md"
  else
    sed -i "s/^## ${version} (unreleased)$/## ${version} - ${day}/" "${root}/CHANGELOG.md"
    grep -q "^## ${version} - " "${root}/CHANGELOG.md" || fail "CHANGELOG.md has no section '## ${version} (unreleased)'"
  fi
  echo "${former} -> ${version}"
}

# The folder of the commit, not of the files that lie here: what is not committed is in no release.
export_commit() {
  mkdir -p "$1"
  git -C "${root}" archive HEAD | tar -x -C "$1"
  mkdir -p "$1/build"
  ln -s "${root}/build/cache" "$1/build/cache"
}

make_source() {
  git -C "${root}" archive --prefix="sotto-${version}/" HEAD | gzip -n9 > "${out}/sotto-${version}.tar.gz"
}

make_sdk() { (cd "${tree}" && toolchains/package.py --out "${out}"); }

make_tab() {
  (cd "${tree}" && cmake --preset tab && cmake --build --preset tab) || return
  cp "${tree}/build/tab/sotto-tab.html" "${out}/sotto-tab-${version}.html"
}

make_clients() {
  local arch
  for arch in amd64 arm64 armhf; do
    (cd "${tree}" && toolchains/package/static_client.sh "${arch}" "${out}") || return
  done
}

make_wheel() { (cd "${tree}" && toolchains/package/wheel.sh "${out}"); }

make_packages() {
  (cd "${tree}" && dpkg-buildpackage --build=binary --no-sign) || return
  cp "${work}"/*.deb "${out}"
}

build() {
  local parts=("${ALL_PARTS[@]}") snapshot=false part
  [[ -n "${1-}" ]] || fail 'build needs a folder: release.sh build OUT'
  mkdir -p "$1"
  out="$(cd "$1" && pwd)"
  shift
  while (($# > 0)); do
    case "$1" in
      --parts)
        [[ -n "${2-}" ]] || fail '--parts needs names, such as --parts source,sdk'
        IFS=, read -ra parts <<< "$2"
        shift
        ;;
      --snapshot) snapshot=true ;;
      *) fail "build has no option '$1'; see release.sh --help" ;;
    esac
    shift
  done
  for part in "${parts[@]}"; do
    [[ " ${ALL_PARTS[*]} " == *" ${part} "* ]] || fail "there is no part '${part}'; the parts are ${ALL_PARTS[*]}"
  done
  [[ -z "$(ls -A "${out}")" ]] || fail "${out} is not empty"
  git -C "${root}" rev-parse HEAD > /dev/null 2>&1 || fail "${root} is no clone of git; a release is made of a commit"
  [[ -z "$(git -C "${root}" status --porcelain)" ]] ||
    fail 'files are changed that are not committed; a release is made of a commit: commit or stash them'

  # Neither the hour nor the folder of a build is in what it makes.
  SOURCE_DATE_EPOCH="$(git -C "${root}" log -1 --format=%ct)"
  work="$(mktemp -d)"
  trap 'rm -rf "${work}"' EXIT
  tree="${work}/sotto"
  export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
  export CFLAGS="-ffile-prefix-map=${tree}=." CXXFLAGS="-ffile-prefix-map=${tree}=."
  umask 022
  export_commit "${tree}"
  version="$(version_of "${tree}")"
  if [[ "${version}" == *-dev ]]; then
    ${snapshot} || fail "the version is ${version}: release.sh prepare ${version%-dev}, commit; or --snapshot for a trial"
  else
    grep -q "^## ${version} - " "${tree}/CHANGELOG.md" || fail "CHANGELOG.md has no section '## ${version} - DATE'"
    [[ -s "${tree}/tests/vectors/frozen/${version}/wire.txt" && -s "${tree}/tests/vectors/frozen/${version}/fleet.tar.gz" ]] ||
      fail "tests/vectors/frozen has no samples of ${version}: see its README.md"
  fi

  for part in "${parts[@]}"; do
    echo "== ${part}"
    "make_${part}" > "${work}/${part}.log" 2>&1 || {
      tail -n 40 "${work}/${part}.log" >&2
      fail "the part ${part} failed, as above"
    }
  done
  awk '/^## / && ++sections > 1 { exit } sections' "${tree}/CHANGELOG.md" > "${out}/NOTES.md"
  "${tree}/toolchains/release/components.py" "${version}" "${out}" "${root}/build/cache" --licenses "${out}/licenses.txt" \
    --cyclonedx "${out}/sotto-${version}.cdx.json"
  (cd "${out}" && sha256sum -- * > "${work}/sums" && mv "${work}/sums" SHA256SUMS)
  (cd "${out}" && ls -l)
}

main() {
  case "${1-}" in
    prepare)
      [[ -n "${2-}" ]] || fail 'prepare needs a version: release.sh prepare 0.3.0'
      prepare "$2" "${3-}"
      ;;
    build) build "${@:2}" ;;
    check)
      [[ -s "${2-}/SHA256SUMS" ]] || fail "there is no ${2-OUT}/SHA256SUMS"
      cd "$2" && sha256sum --check --strict --quiet SHA256SUMS && echo 'all files have the sums of SHA256SUMS'
      ;;
    -h | --help) usage ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  exit # a build may take longer than this file stays as it is
}

main "$@"
