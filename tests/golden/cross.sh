#!/usr/bin/env bash
# cross.sh SOURCE_DIR PRESET LEVEL [CMAKE_OPTION...]
# Builds `golden` for a preset at -O2 or -Os (LEVEL: O2, Os) and runs it, under the toolchain's emulator
# where there is one. Exits with 77, skipped, where a compiler, an emulator or a source is missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$1"
preset="$2" level="$3"

missing="$(missing_for "${preset}")"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi
folder="build/golden/${preset}-${level}"
build_for "${preset}" "${level}" "${folder}" golden "${@:4}"
ctest --test-dir "${folder}" --tests-regex '^golden$' --no-tests=error --verbose
