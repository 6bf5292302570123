#!/usr/bin/env bash
# version.sh SOURCE_DIR BUILD_DIR CMAKE_VERSION PROGRAM...
# sdk/include/sotto/version.h alone says the version: CMake's project, its package, the programs and the
# newest section of CHANGELOG.md have the same one.
set -euo pipefail
source_dir="$1" build_dir="$2" cmake_version="$3"
shift 3

failures=0
# expect WHAT IS SHOULD
expect() {
  [[ "$2" == "$3" ]] && return
  echo "$1 is '$2', and version.h makes it '$3'"
  failures=$((failures + 1))
}

version="$(sed -nE 's/.*kVersion\[\] = "([^"]+)";$/\1/p' "${source_dir}/sdk/include/sotto/version.h")"
[[ "${version}" =~ ^([0-9]+\.[0-9]+)\.[0-9]+(-[a-z0-9.]+)?$ ]] || { echo "no version: '${version}'"; exit 1; }
minor="${BASH_REMATCH[1]}" suffix="${BASH_REMATCH[2]}"
number="${version%"${suffix}"}"

expect "the version of CMake's project" "${cmake_version}" "${number}"
expect "the version of CMake's package" \
  "$(sed -nE 's/^set\(PACKAGE_VERSION "(.*)"\)$/\1/p' "${build_dir}/sdk/sottoConfigVersion.cmake")" "${number}"
expect 'the version of the Python package' \
  "$(sed -nE 's/^__version__ = "(.*)"$/\1/p' "${source_dir}/toolchains/package/python/sotto.py")" "${version}"
expect 'the version of the Debian packages' \
  "$(sed -nE '1s/^sotto \((.*)\) .*/\1/p' "${source_dir}/debian/changelog")" "${version/-/\~}"
for program in "$@"; do
  expect "the version of ${program##*/}" "$("${program}" --version)" "${version}"
done
expect 'the newest section of CHANGELOG.md' "$(sed -nE '/^## /{s/^## //;s/ - 20[0-9-]+$//;p;q}' "${source_dir}/CHANGELOG.md")" \
  "${number}${suffix:+ (unreleased)}"
for file in tests/policy/consumer/CMakeLists.txt sdk/DEVICE.md; do
  expect "what ${file} asks for" "$(sed -nE 's/^find_package\(sotto ([0-9.]+) .*/\1/p' "${source_dir}/${file}")" \
    "${minor}"
done
exit $((failures > 0))
