#!/usr/bin/env bash
# table.sh [--update]
# Prints, as a Markdown table, the instructions that a Cortex-M4F spends on one coordinate, with everything
# compiled at -O2 and at -Os. Under QEMU's -icount the counts are the same in every run. With --update the
# table replaces the one in sdk/LRQ.md.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

missing="$(missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "table.sh: no ${missing//$'\n'/, no }" >&2
  exit 1
fi

# measure LEVEL: prints the lines of the program.
measure() {
  local folder="build/instructions/$1"
  build_for cortex-m4 "$1" "${folder}" instructions > "${folder}.log" 2>&1 || {
    cat "${folder}.log" >&2
    return 1
  }
  qemu-system-arm -M mps2-an386 -display none -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "${folder}/bin/instructions" 2>&1
}

mkdir -p build/instructions
fast="$(measure O2)"
small="$(measure Os)"
print_table() {
  echo '| instructions a coordinate, Cortex-M4F | -O2 | -Os |'
  echo '|---|---|---|'
  paste -d : <(echo "${fast}") <(echo "${small}") |
    awk -F ': *' '{ printf "| %s | %.1f | %.1f |\n", $1, $2 / 10, $4 / 10 }'
}

print_table | tee build/instructions/table.md
if [[ "${1-}" == --update ]]; then
  # The table in the page is what follows the marker, up to an empty line.
  sed -i -e '/^<!-- instructions per coordinate/,/^$/ { /^|/d; }' \
    -e '/^<!-- instructions per coordinate/r build/instructions/table.md' sdk/LRQ.md
fi
