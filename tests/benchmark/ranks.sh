#!/usr/bin/env bash
# ranks.sh BUILD_DIR [--update]
# What ranks cost, measured on two cores of this machine, and what larger fleets would take, computed from it. With --update
# the tables replace what server/CLUSTER.md has. The build has -DSOTTO_WITH_MPI=ON and -DSOTTO_TESTS=ON.
set -euo pipefail
build="$(cd "$1" && pwd)"
page="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/server/CLUSTER.md"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
cd "${work}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# seconds COMMAND...: of a simulation, by its own clock.
seconds() {
  "$@" --json run.json > output.txt 2>&1
  sed -n 's/^ *"wall_seconds": \([0-9.]*\),\?$/\1/p' run.json
}

# usage COMMAND...: "KILOBYTES SECONDS", the most memory and the processor time.
usage() {
  python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)' "$@"
}

simulation=("${build}/bin/sotto" simulate --data fashion-mnist --noise-multiplier 1 --seed 1)
cohorts=("${simulation[@]}" --model lenet --devices 1200 --cohort 200 --rounds 10)
ratios=()
for _ in 1 2 3; do
  one="$(seconds "${cohorts[@]}" --threads 2)"
  two="$(seconds mpirun -n 2 "${cohorts[@]}" --threads 1)"
  ratios+=("$(awk "BEGIN { printf \"%.3f\", ${two} / ${one} }")")
done
mpirun -n 2 "${build}/bin/sotto-bench-ranks" > sums.txt

fleet=("${simulation[@]}" --partition iid-overlap --samples-per-device 10 --cohort 100 --rounds 1 --evaluate-every 0)
read -r small_kb small_s <<< "$(usage "${fleet[@]}" --devices 10000)"
read -r large_kb large_s <<< "$(usage "${fleet[@]}" --devices 1000000)"
read -r net_kb _ <<< "$(usage "${build}/bin/sotto" simulate --data synthetic --model resnet18 --devices 20 --cohort 2 \
  --rounds 1 --samples-per-device 2 --noise-multiplier 1 --delta 0.01 --seed 1 --evaluate-every 0 --threads 1)"

{
  echo '| measured | |'
  echo '|---|---|'
  printf '| time of two ranks of one thread over one rank of two threads, three times | %s, %s, %s |\n' "${ratios[@]}"
  sed -E 's/^.* ranks, ([0-9]+) parameters: ([0-9.]+) ms$/| ms of a sum of \1 parameters over two ranks | \2 |/' sums.txt
  awk "BEGIN {
    printf \"| bytes of a rank for a device | %.0f |\n\", (${large_kb} - ${small_kb}) * 1024 / 990000
    printf \"| us of a rank for a device, at the start | %.1f |\n\", (${large_s} - ${small_s}) * 1e6 / 990000
    printf \"| bytes of a rank for a parameter, with one thread | %.0f |\n\", ${net_kb} * 1024 / 11178762
  }"
} > ranks.md

awk "BEGIN {
  devices = 1e8; parameters = 12e6; bandwidth = 1.25e9; latency = 50e-6; cohort = 64000
  print \"| computed, of each rank | 64 ranks | 1,000 ranks |\"
  print \"|---|---|---|\"
  gb = devices * (${large_kb} - ${small_kb}) * 1024 / 990000 / 1e9
  net = parameters * ${net_kb} * 1024 / 11178762 / 1e9
  printf \"| memory, GB: the fleet, and the net for one thread | %.0f and %.1f | the same |\n\", gb, net
  printf \"| start, s | %.0f | the same |\n\", devices * (${large_s} - ${small_s}) / 990000
  printf \"| sum of updates, s a round |\"
  for (ranks = 64; ranks <= 1000; ranks += 936)
    printf \" %.2f |\", 2 * 8 * parameters * (ranks - 1) / ranks / bandwidth + 2 * (ranks - 1) * latency
  printf \"\n| devices that train, of a cohort of 64,000 | %.0f | %.0f |\n\", cohort / 64, cohort / 1000
}" > planned.md

cat ranks.md planned.md
[[ "${2-}" == --update ]] || exit 0
for table in ranks planned; do
  sed -i -e "/^<!-- ${table} -->/,/^\$/ { /^|/d; }" -e "/^<!-- ${table} -->/r ${table}.md" "${page}"
done
