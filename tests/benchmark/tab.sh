#!/usr/bin/env bash
# tab.sh [REPETITIONS]
# Prints, as a Markdown table, what examples/tab/README.md says of the size and the speed of sotto-tab.html: seconds of
# one processor for the job that the page begins with, by the native program on one thread and by the page's program in
# Node, side by side; the fastest of the repetitions (5) counts. Needs the presets host and tab, and node.
set -euo pipefail
repetitions="${1:-5}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
job=(--data synthetic --seed 1)

# The least seconds of user and system time.
natively() {
  local TIMEFORMAT='%U %S'
  for ((i = 0; i < repetitions; ++i)); do
    { time build/host/bin/sotto simulate "${job[@]}" --threads 1 > /dev/null 2>&1; } 2>&1
  done | awk '{ s = $1 + $2; if (NR == 1 || s < least) least = s } END { printf "%.2f", least }'
}

native="$(natively)"
in_node="$(node tests/packages/tab_node.js build/tab --repeat "${repetitions}" "${job[@]}" | cut -d ' ' -f 2)"
page="$(stat -c %s build/tab/sotto-tab.html)"
packed="$(gzip -9c build/tab/sotto-tab.html | wc -c)"
awk -v native="${native}" -v node="${in_node}" -v page="${page}" -v packed="${packed}" 'BEGIN {
  print "| figure | value |"
  print "|---|---|"
  printf "| native, one thread, s of a processor | %.1f |\n", native
  printf "| in Node, s of a processor | %.1f |\n", node
  printf "| ratio | %.1f |\n", node / native
  printf "| page, MB | %.2f |\n", page / 1e6
  printf "| page under gzip, MB | %.2f |\n", packed / 1e6
}'
