#!/usr/bin/env bash
# training_table.sh [--update]
# Prints, as a Markdown table, the instructions that a Cortex-M3, which has no floating-point unit, and
# a Cortex-M4F spend on one training sample, in float32 and in fixed point, compiled at -O2 and as
# their presets do, at -Os. With --update the table replaces the one in sdk/TRAINING.md.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=measure.sh
source "$(dirname "${BASH_SOURCE[0]}")/measure.sh"

require cortex-m3
mkdir -p build/instructions
for level in O2 Os; do
  measure cortex-m3 mps2-an385 "${level}" training_instructions > "build/instructions/m3-${level}.txt"
  measure cortex-m4 mps2-an386 "${level}" training_instructions > "build/instructions/m4-${level}.txt"
done
{
  echo '| instructions a sample, model | Cortex-M3, -O2 | -Os | Cortex-M4F, -O2 | -Os |'
  echo '|---|---|---|---|---|'
  (cd build/instructions && paste -d : m3-O2.txt m3-Os.txt m4-O2.txt m4-Os.txt) |
    awk -F ': *' '{ printf "| `%s` | %d | %d | %d | %d |\n", $1, $2, $4, $6, $8 }'
} | publish 'instructions per sample' sdk/TRAINING.md "$@"
