#!/usr/bin/env bash
# ratios.sh [REPETITIONS]
# Prints, as a Markdown table, the nanoseconds that this machine spends on one coordinate and their ratios
# to the raw keystreams of Mbed TLS and of libsodium. The minimum of the repetitions (9) counts: other work only adds time. The
# repetitions of all cases are interleaved, so that a slow minute does not fall on one of them.
# Needs the preset host with -DSOTTO_TESTS=ON and python3.
set -euo pipefail
repetitions="${1:-9}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cmake --build --preset host --target sotto_bench > /dev/null
build/host/bin/sotto-bench "--benchmark_repetitions=${repetitions}" --benchmark_min_time=0.1 \
  --benchmark_enable_random_interleaving=true --benchmark_format=json |
  python3 -c '
import json, statistics, sys

times = {}
runs = json.load(sys.stdin)["benchmarks"]
for run in sorted(runs, key=lambda run: run["family_index"]):
    if run["run_type"] == "iteration":
        times.setdefault(run["run_name"], []).append(1e9 / run["items_per_second"])
units = [min(times["keystream, " + library]) for library in ("Mbed TLS", "libsodium")]
print("| one core | ns a coordinate, minimum | median | minima, to Mbed TLS | to libsodium |")
print("|---|---|---|---|---|")
for name, values in times.items():
    low = min(values)
    ratios = " | ".join(f"{low / unit:.2f}" for unit in units)
    print(f"| {name} | {low:.2f} | {statistics.median(values):.2f} | {ratios} |")
'
