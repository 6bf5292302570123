#!/usr/bin/env bash
# regenerate.sh
# Writes golden_values.inc anew with the values that this machine computes. Run it after a deliberate
# change of the integers. `git diff` then shows which values changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/golden/regenerate
values=tests/golden/golden_values.inc
cmake --preset host -B "${build}" -DSOTTO_SERVER=OFF -DSOTTO_DEVICE_TESTS=ON > /dev/null
cmake --build "${build}" --target golden
"${build}/bin/golden" --print > "${build}/values.inc"
mv "${build}/values.inc" "${values}"
cmake --build "${build}" --target golden
"${build}/bin/golden"
