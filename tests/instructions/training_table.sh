#!/usr/bin/env bash
# training_table.sh [--update]
# Prints, as a Markdown table, the instructions that a Cortex-M3, which has no floating-point unit, and
# a Cortex-M4F spend on one training sample, in float32 and in fixed point, compiled at -O2 and as
# their presets do, at -Os. Under QEMU's -icount the counts are the same in every run. With --update
# the table replaces the one in sdk/TRAINING.md.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

missing="$(missing_for cortex-m3)"
if [[ -n "${missing}" ]]; then
  echo "training_table.sh: no ${missing//$'\n'/, no }" >&2
  exit 1
fi

# measure CPU BOARD LEVEL: prints the lines "model: instructions" of the program.
measure() {
  local folder="build/instructions/$1-$3"
  build_for "$1" "$3" "${folder}" training_instructions > "${folder}.log" 2>&1 || {
    cat "${folder}.log" >&2
    return 1
  }
  qemu-system-arm -M "$2" -display none -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "${folder}/bin/training_instructions" 2>&1
}

mkdir -p build/instructions
for level in O2 Os; do
  measure cortex-m3 mps2-an385 "${level}" > "build/instructions/m3-${level}.txt"
  measure cortex-m4 mps2-an386 "${level}" > "build/instructions/m4-${level}.txt"
done

print_table() {
  echo '| instructions a sample, model | Cortex-M3, -O2 | -Os | Cortex-M4F, -O2 | -Os |'
  echo '|---|---|---|---|---|'
  (cd build/instructions && paste -d : m3-O2.txt m3-Os.txt m4-O2.txt m4-Os.txt) |
    awk -F ': *' '{ printf "| `%s` | %d | %d | %d | %d |\n", $1, $2, $4, $6, $8 }'
}

print_table | tee build/instructions/training.md
if [[ "${1-}" == --update ]]; then
  # The table in the page is what follows the marker, up to an empty line.
  sed -i -e '/^<!-- instructions per sample/,/^$/ { /^|/d; }' \
    -e '/^<!-- instructions per sample/r build/instructions/training.md' sdk/TRAINING.md
fi
