#!/usr/bin/env bash
# training.sh [ROUNDS]
# Prints, as a Markdown table, the microseconds that this machine spends on one training sample, in batches
# of 10 on one core, and those of PyTorch on one thread, and their ratio. The two take turns, 5 rounds unless
# told, and of each the minimum counts: other work only adds time.
# Processor time, in which a busy machine counts less.
# Needs the preset host with -DSOTTO_TESTS=ON and Debian's python3-torch.
set -euo pipefail
rounds="${1:-5}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cmake --build --preset host --target sotto_bench > /dev/null
for ((i = 0; i < rounds; i++)); do
  build/host/bin/sotto-bench --benchmark_filter='^train, ' --benchmark_repetitions=20 \
    --benchmark_min_time=0.02 --benchmark_format=csv 2> /dev/null |
    awk -F '"' '$2 ~ /^train, [a-z]+$/ { split($3, n, ","); print "sotto", substr($2, 8), n[4] / 1e4 }'
  /usr/bin/python3 tests/benchmark/training.py | sed 's/^/torch /'
done |
  awk '
    !(($1, $2) in least) || $3 < least[$1, $2] { least[$1, $2] = $3 }
    END {
      print "| one core, us a sample | Sotto | PyTorch | ratio |"
      print "|---|---|---|---|"
      split("lenet lstm", names, " ")
      for (i = 1; i <= 2; i++) {
        s = least["sotto", names[i]]
        t = least["torch", names[i]]
        printf "| %s | %.0f | %.0f | %.2f |\n", names[i], s, t, s / t
      }
    }'
