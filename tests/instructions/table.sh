#!/usr/bin/env bash
# table.sh [--update]
# Prints, as a Markdown table, the instructions that a Cortex-M4F spends on one coordinate, with everything
# compiled at -O2 and at -Os. With --update the table replaces the one in sdk/LRQ.md.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=measure.sh
source "$(dirname "${BASH_SOURCE[0]}")/measure.sh"

require cortex-m4
fast="$(measure cortex-m4 mps2-an386 O2 instructions)"
small="$(measure cortex-m4 mps2-an386 Os instructions)"
{
  echo '| instructions a coordinate, Cortex-M4F | -O2 | -Os |'
  echo '|---|---|---|'
  paste -d : <(echo "${fast}") <(echo "${small}") |
    awk -F ': *' '{ printf "| %s | %.1f | %.1f |\n", $1, $2 / 10, $4 / 10 }'
} | publish 'instructions per coordinate' sdk/LRQ.md "$@"
