#!/usr/bin/env bash
# nets.sh [ROUNDS]
# Prints, as a Markdown table, the microseconds that this machine spends on one sample of a net, in a step of SGD and in
# a forward pass, with Sotto and with PyTorch, each on one thread, and their ratio. The two take turns, 5 rounds unless
# told, and of each the minimum counts: other work only adds time. Processor time, in which a busy machine counts less.
# PyTorch's OpenBLAS chooses its kernels for this CPU by itself, whatever OPENBLAS_CORETYPE says.
# Needs the preset host with -DSOTTO_TESTS=ON, and Debian's python3-torch and libopenblas0.
set -euo pipefail
rounds="${1:-5}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

cmake --build --preset host --target sotto_bench > /dev/null
for ((i = 0; i < rounds; i++)); do
  build/host/bin/sotto-bench --benchmark_filter='^(train|forward) ' --benchmark_repetitions=5 \
    --benchmark_min_time=0.02 --benchmark_format=csv 2> /dev/null |
    awk -F '"' '$2 ~ /^(train|forward) [a-z0-9-]+\/[0-9]+$/ {
      split($2, batch, "/"); split($3, n, ","); print "sotto", $2, n[4] / 1e3 / batch[2] }'
  /usr/bin/python3 tests/benchmark/nets.py | sed 's/^/torch /'
done |
  awk '
    { name = $2 " " $3 }
    !(name in order) { order[name] = ++cases; names[cases] = name }
    !(($1, name) in least) || $4 < least[$1, name] { least[$1, name] = $4 }
    END {
      print "| one core, us a sample | batch | Sotto | PyTorch | ratio |"
      print "|---|---|---|---|---|"
      for (i = 1; i <= cases; i++) {
        s = least["sotto", names[i]]
        t = least["torch", names[i]]
        split(names[i], part, "/")
        printf "| %s | %d | %.1f | %.1f | %.2f |\n", part[1], part[2], s, t, s / t
      }
    }'
