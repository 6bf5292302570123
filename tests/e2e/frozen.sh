#!/usr/bin/env bash
# frozen.sh SOURCE_DIR WORK_DIR BIN_DIR
#   The fleets of tests/vectors/frozen, each as a release left it: today's ledger says what that release's said, and the
#   job goes on to its end with the devices' own files.
# frozen.sh make VERSION BIN_DIR
#   makes that sample, with the programs of BIN_DIR, before a release.
set -euo pipefail

# Serves the store until the plan of so many rounds is released; three devices take part.
# serve_rounds ROUNDS
serve_rounds() {
  local server port='' i
  sotto serve store --model model.toml --listen 127.0.0.1:0 --once --cohort 2 --rounds "$1" --participations 4 \
    --noise-multiplier 1 --delta 0.1 --accept-delta --round-timeout 6 > server.log 2>&1 &
  server=$!
  while [[ -z "${port}" ]] && kill -0 "${server}" 2> /dev/null; do
    sleep 0.1
    port="$(sed -nE 's/.* listening on .* port ([0-9]+):.*/\1/p' server.log)"
  done
  for i in 0 1 2; do
    sotto-client --kit "kits/device-00000${i}.sotto" --server "127.0.0.1:${port}" --samples "$((20 * i)):20" --once \
      --keep-model "kept-${i}" > "device-${i}.log" 2>&1 &
  done
  wait "${server}" || {
    cat server.log device-*.log
    return 1
  }
  wait
}

if [[ "${1-}" == make ]]; then
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  PATH="$(realpath "$3"):${PATH}"
  mkdir -p "tests/vectors/frozen/$2"
  archive="${PWD}/tests/vectors/frozen/$2/fleet.tar.gz"
  work="$(mktemp -d)"
  trap 'rm -rf "${work}"' EXIT
  cd "${work}"
  awk 'BEGIN {
    for (i = 0; i < 60; i++) {
      for (j = 0; j < 4; j++) printf "%.3f,", sin(i * (j + 1)) + (j == i % 3 ? 2 : 0)
      print i % 3
    }
  }' > data.csv
  printf 'name = "tiny"\ninput = [4]\nloss = "softmax"\n\n[[layer]]\nkind = "dense"\noutputs = 3\n' > model.toml
  sotto keys new store --count 3 --kits kits --server 127.0.0.1:7177 --model model.toml --data ../data.csv
  serve_rounds 2
  sotto account ledger store --json ledger.json
  tar -c --sort=name --owner=0 --group=0 --numeric-owner data.csv model.toml store store-devices kits kept-? ledger.json |
    gzip -n9 > "${archive}"
  ls -l "${archive}"
  exit
fi

source_dir="$1" work="$2"
PATH="$3:${PATH}"
for archive in "${source_dir}"/tests/vectors/frozen/*/fleet.tar.gz; do
  release="$(basename "$(dirname "${archive}")")"
  echo "${release}"
  rm -rf "${work:?}/${release}"
  mkdir -p "${work}/${release}"
  cd "${work}/${release}"
  tar -xzf "${archive}"
  # What a later program adds to a ledger is no difference.
  sotto account ledger store --json today.json > ledger.log
  python3 - << 'END'
import json
import sys


def check(then, now, place):
    if isinstance(then, dict):
        for name, value in then.items():
            if name not in now:
                sys.exit(f"{place}.{name} is gone")
            check(value, now[name], f"{place}.{name}")
    elif isinstance(then, list):
        if len(then) != len(now):
            sys.exit(f"{place} has {len(now)} entries, not {len(then)}")
        for i, value in enumerate(then):
            check(value, now[i], f"{place}[{i}]")
    elif then != now:
        sys.exit(f"{place} is {now}, not {then}")


check(json.load(open("ledger.json")), json.load(open("today.json")), "ledger")
END
  counted="$(cat kits/*.mark | sha256sum)"
  serve_rounds 3
  grep -q 'all 3 rounds of the plan are released' server.log || {
    cat server.log
    exit 1
  }
  [[ "$(cat kits/*.mark | sha256sum)" != "${counted}" ]] # the devices counted on in their files
  cmp kept-0/model.bin kept-1/model.bin
  sotto account ledger store | grep -q '3 of 3 rounds released in 3 attempts' || {
    sotto account ledger store
    exit 1
  }
done
[[ -n "${release-}" ]] || {
  echo 'no frozen sample'
  exit 1
}
