#!/usr/bin/env bash
# directory.sh SOURCE_DIR WORK_DIR BIN
# The commands of server/PEERS.md: the directory listens, holds its folder against a second one, ends
# cleanly by a signal, and goes on after a kill. Another job, another choice of a relay and a damaged state
# are refused, with what to do. Nodes come in live_peers_test.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"

extract_blocks server/PEERS.md blocks
session=(blocks/*.bash)
sed -i "s#build/host/bin/#${bin}/#" "${session[0]}"
bash -e <(head -n 1 "${session[0]}")
read -ra directory <<< "$(sed -n '2p' "${session[0]}") --listen 127.0.0.1:0 --port-file port"

fail() {
  echo "$1"
  exit 1
}

# start OUTPUT [OPTION...]: returns once the directory listens.
start() {
  rm -f port
  "${directory[@]}" "${@:2}" 2> "$1" &
  pid=$!
  for ((i = 0; i < 200; i++)); do
    [[ ! -s port ]] || return 0
    sleep 0.1
  done
  fail "the directory does not listen: $(cat "$1")"
}

# ends STATUS SIGNAL
ends() {
  local status=0
  kill "-$2" "${pid}"
  wait "${pid}" || status=$?
  [[ "${status}" == "$1" ]] || fail "status ${status} after SIG$2, expected $1"
}

# refused STATUS TEXT COMMAND...: it fails at once with this status, and says TEXT.
refused() {
  local status=0
  timeout 20 "${@:3}" 2> refused.txt || status=$?
  [[ "${status}" == "$1" ]] || fail "status ${status}, expected $1: ${*:3}"
  grep -qF -e "$2" refused.txt || fail "the message does not say '$2': $(cat refused.txt)"
}

start first.txt --json results.json --model-out model.f32
refused 1 "process ${pid} holds it" "${directory[@]}"
ends 143 TERM
grep -qF '"version": 0' results.json || fail "no results"
[[ "$(stat -c %s model.f32)" == 31400 ]] || fail "the initial model is not whole"
[[ "$(stat -c %a directory)" == 700 ]] || fail "others may read the state"
start second.txt
ends 137 KILL
start third.txt --log json
ends 130 INT
! grep -v '^{"time":.*}$' third.txt || fail "not all lines of the log are JSON"
tail -n 1 third.txt | grep -qF '"event":"stopped"' || fail "the log does not say that a signal ended it"

without_relay=()
for word in "${directory[@]}"; do [[ "${word}" == --relay ]] || without_relay+=("${word}"); done
refused 2 'add --relay' "${without_relay[@]}"
refused 2 'the state is of another job' "${directory[@]}" --passes 2
refused 2 'the state is of 3 nodes' "${directory[@]}" --peers 2
refused 2 '--peers asks for 4' "${directory[@]}" --peers 4
refused 2 'it needs --insecure-seed' "${directory[@]}" --order turns
echo 'noise = 65' > job.toml
refused 2 'job.toml:1: noise: 65 is not in the range [0 - 64]' "${directory[@]}" --job job.toml
sed -i 's/"version": 0/"version": 1/' directory/state.json
refused 1 'it is damaged' "${directory[@]}"
