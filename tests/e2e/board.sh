#!/usr/bin/env bash
# board.sh TEST SOURCE_DIR WORK_DIR BIN_DIR
# The firmware of examples/cortex_m on boards that QEMU emulates, against a real server. TEST:
#   images    builds it for five cores, each with a device's key and samples, one of them with Mbed TLS
#             3.6, and the check of a port; no heap is linked
#   fleet     five boards and one sotto-client: after three rounds the simulator's model, bit for bit;
#             then the same with a convolutional net, for which a Cortex-M4F has 192 kB of RAM
#   windows   a board trains a user's net on a sensor's windows, without noise, and the model tells
#             windows apart that it has never seen
#   cut_link  the link is cut within an upload: the upload goes on, still the simulator's model; and
#             without a seed the nonce shows that nothing was trained or encoded again
#   reset     a board is switched off within an upload, or its reset button is pressed while the
#             server holds its session: it trains anew, under another nonce
#   frames    a board speaks through sotto-gateway in frames of 20 bytes, of which 5 % are lost in each
#             direction: it trains, its update arrives, and the model is the simulator's; a server that
#             is not there and a gateway that is started again cost a connection, no more. Its model is
#             in flash: after a reset it fetches the final one as a difference from what it holds, which
#             is then the server's bit by bit, and so are its classes; without a server it predicts at
#             once; and of a model that is torn it says that it has none
#   refusal   the device refuses a job without noise, and a server of another model it: the board says
#             why and ends with status 3. Of samples without a head or damaged ones it ends with status 2
#   readme    the session of examples/cortex_m/README.md as it stands there; only the port and the
#             folders of sources and programs are changed
#   peers     three boards and two sotto-clients without a server, through a relay, reach the
#             simulator's model bit for bit; then the same with boards, a client and the directory
#             killed again and again: no batch is published twice, and the same model
#   port      five boards keep the rules of a port, their UART on an echo server, their store in files
#   store     a board is killed again and again as it saves: its store has the old record or the new one
# Skipped, 77, where a compiler, an emulator, a source or Fashion-MNIST is missing.
set -euo pipefail
test="$1" source_dir="$2" bin="$4"
mkdir -p "$3/${test}"
images="$(cd "$3" && pwd)/images"
cd "$3/${test}"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"

data=/usr/share/datasets/fashion-mnist
seed=(--seed 7 --insecure-seed)
noise=(--noise-multiplier 1 --colluders 0)
# The core of device 0, 1, ...; the last device is a sotto-client.
cores=(cortex-m4 cortex-m3 cortex-m7 cortex-m33 cortex-m55)
trap 'jobs -pr | xargs -r kill 2> /dev/null || true' EXIT  # one may have ended meanwhile

skip_what_is_missing() {
  local missing
  missing="$(cd "${source_dir}" && missing_for cortex-m4)"
  [[ -d "${data}" ]] || missing+=" Fashion-MNIST (package dataset-fashion-mnist)"
  [[ -x /usr/bin/python3 ]] || missing+=" /usr/bin/python3"
  [[ -z "${missing}" ]] || {
    echo "skipped: no ${missing//$'\n'/, no }"
    exit 77
  }
}

fail() {
  tail -n 40 ./*.log
  echo "FAILED: $*"
  exit 1
}

# await FILE: until it is there and not empty.
await() {
  for ((i = 0; i < 600; i++)); do
    [[ ! -s "$1" ]] || return 0
    sleep 0.1
  done
  fail "no $1 within a minute"
}

# await_line FILE PATTERN
await_line() {
  for ((i = 0; i < 600; i++)); do
    ! grep -q "$2" "$1" 2> /dev/null || return 0
    sleep 0.1
  done
  fail "$1 does not say '$2' within a minute"
}

# mbedtls_for CPU: the source that its firmware is built with. 3.6 on a Cortex-M7 and 2.28 elsewhere.
mbedtls_for() {
  local version=2.28
  [[ "$1" != cortex-m7 || ! -d "${source_dir}/build/cache/mbedtls-3.6" ]] || version=3.6
  echo "${source_dir}/build/cache/mbedtls-${version}"
}

report_mbedtls() {
  local core
  for core in "${cores[@]}"; do echo "${core}: $(basename "$(mbedtls_for "${core}")")"; done
  [[ "$(mbedtls_for cortex-m7)" == *-3.6 ]] ||
    echo 'NOT TESTED: Mbed TLS 3.6 on cortex-m7, no build/cache/mbedtls-3.6 (toolchains/fetch-source.sh)'
}

# make_peer_data NAME SEED: samples that both a file and a board can hold, two IDX files, 50 bytes an image, ten classes.
make_peer_data() {
  /usr/bin/python3 - "$@" << 'END'
import random
import struct
import sys

random.seed(int(sys.argv[2]))
images, labels = bytearray(), bytearray()
for i in range(400):
    label = i % 10
    labels.append(label)
    for j in range(50):
        images.append(min(255, max(0, int(random.gauss(160 if j % 10 == label else 40, 40)))))
with open(f"{sys.argv[1]}-images-idx3-ubyte", "wb") as file:
    file.write(struct.pack(">4i", 0x803, 400, 5, 10) + images)
with open(f"{sys.argv[1]}-labels-idx1-ubyte", "wb") as file:
    file.write(struct.pack(">2i", 0x801, 400) + labels)
END
}
peer_data="train-images-idx3-ubyte"
peer_fleet=(--peers 5 --samples-per-device 60)
peer_job=(--model ova-logistic --data "${peer_data}:labels=train-labels-idx1-ubyte"
  --test "test-images-idx3-ubyte:labels=test-labels-idx1-ubyte")
peer_numbers=(--batch-size 10 --passes 2 --epsilon 6 --rule accumulate --publication-steps 2 --share coin:0.5)

# make_bad_shards FILE: FILE.headless, which is as long as 80 samples of bytes without heads, and FILE.damaged.
make_bad_shards() {
  /usr/bin/python3 - "$1" << 'END'
import struct
import sys

with open(sys.argv[1] + ".headless", "wb") as file:
    file.write(b"".join(struct.pack("<I784f", i % 10, *[0.5] * 784) for i in range(20)))
shard = bytearray(open(sys.argv[1], "rb").read())
shard[-1] ^= 1
open(sys.argv[1] + ".damaged", "wb").write(shard)
END
}

# Keys and shards change with their format only: then the build has nothing to do.
build_images() {
  local i name firmware
  rm -rf fleet.db new
  mkdir -p new
  make_peer_data train 3
  make_peer_data test 4
  "${bin}/sotto" peers simulate "${peer_fleet[@]}" "${peer_job[@]}" "${peer_numbers[@]}" \
    --seed 7 --job-out new/job.h > simulate.log 2>&1 || fail "simulate --job-out"
  "${bin}/sotto" keys new fleet.db --count "${#cores[@]}" "${seed[@]}" > /dev/null
  for i in "${!cores[@]}"; do
    "${bin}/sotto" keys export fleet.db "sim-00000${i}" --header "new/key${i}.h" > /dev/null
    "${bin}/sotto-shard" --device "${i}" --seed 7 --out "new/shard${i}.bin" > /dev/null
    ((i > 2)) || "${bin}/sotto-shard" "${peer_job[@]}" --device "${i}" --devices 5 --samples 60 \
      --seed 7 --out "new/peer${i}.bin" > /dev/null
    ((i > 0)) || make_bad_shards new/shard0.bin
    for name in "key${i}.h" "shard${i}.bin"{,.headless,.damaged} "peer${i}.bin" job.h; do
      [[ -e "new/${name}" ]] || continue
      cmp -s "new/${name}" "${name}" || cp -p "new/${name}" .
    done
    echo "== device ${i}: ${cores[i]}"
    cmake -S "${source_dir}/examples/cortex_m" -B "${cores[i]}" -G Ninja \
      --toolchain "${source_dir}/toolchains/arm-none-eabi.cmake" "-DSOTTO_CPU=${cores[i]}" \
      -DSOTTO_INSECURE_ENTROPY=ON -DSOTTO_DEVICE_TESTS=ON -DSOTTO_WARNINGS_AS_ERRORS=ON -DSOTTO_LINK_SILENCE_MS=5000 \
      "-DSOTTO_MBEDTLS_SOURCE_DIR=$(mbedtls_for "${cores[i]}")" \
      "-DSOTTO_DEVICE_KEY=${PWD}/key${i}.h" "-DSOTTO_DEVICE_SHARD=${PWD}/shard${i}.bin" \
      "-DSOTTO_PEER_JOB=$( ((i > 2)) || echo "${PWD}/job.h")" -DSOTTO_PEER_SHARE=coin:0.5 \
      "-DSOTTO_PEER_NET=${source_dir}/examples/cortex_m/nets/ova_logistic.h" \
      "-DSOTTO_PEER_SHARD=${PWD}/peer${i}.bin" > cmake.log ||
      fail "cmake for ${cores[i]}"
    firmware=(firmware firmware_seeded firmware_small_cnn)
    ((i > 0)) || firmware+=(firmware_windows firmware_frames firmware_headless firmware_damaged)
    ((i > 2)) || firmware+=(peer peer_seeded)
    cmake --build "${cores[i]}" --target "${firmware[@]}" port_check store_check --parallel 2 > build.log ||
      fail "building for ${cores[i]}"
    for name in "${firmware[@]}"; do
      ! arm-none-eabi-nm "${cores[i]}/${name}" | grep -E ' (_?(malloc|calloc|realloc|free|sbrk)(_r)?|_Zn[wa].*)$' ||
        fail "${name} for ${cores[i]} can reach the heap"
    done
    arm-none-eabi-size "${firmware[@]/#/${cores[i]}/}"
  done
  rm -rf new
}

# What must not be built is not: without the option no firmware, without _sbrk no program with a heap.
refuse_the_wrong() {
  ! cmake -S "${source_dir}/examples/cortex_m" -B refused -G Ninja -DSOTTO_DEVICE_KEY="${PWD}/key0.h" \
    --toolchain "${source_dir}/toolchains/arm-none-eabi.cmake" -DSOTTO_CPU=cortex-m4 \
    -DSOTTO_DEVICE_SHARD="${PWD}/shard0.bin" > refused.txt 2>&1 || fail "insecure entropy by default"
  grep -q 'SOTTO_INSECURE_ENTROPY=ON' refused.txt || fail "$(cat refused.txt)"
  ! arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard --specs=nano.specs \
    -nostartfiles -L "${source_dir}/ports/mps2/linker" -T an386.ld -o with_heap -x c++ - -x none \
    cortex-m4/sotto/ports/mps2/libsotto_emulated_board.a > with_heap.txt 2>&1 << 'END' || fail "malloc links"
#include <cstdlib>
int main(int argc, char**) { return std::malloc(static_cast<size_t>(argc)) == nullptr; }
END
  grep -q 'undefined reference to `_sbrk' with_heap.txt || fail "$(cat with_heap.txt)"
}

# serve DEVICES ROUNDS OPTION...: a job for all devices; sets port and server.
serve() {
  rm -rf fleet.db* keys port ./*.log ./*.json
  "${bin}/sotto" keys new fleet.db --count "$1" "${seed[@]}" --out keys > /dev/null
  job=(--cohort "$1" --rounds "$2" --close-early "${@:3}")
  "${bin}/sotto" serve -v --once --store fleet.db "${job[@]}" "${seed[@]}" --round-timeout 90 \
    --listen 127.0.0.1:0 --port-file port --json serve.json > serve.log 2>&1 &
  server=$!
  await port
  port="$(cat port)"
}

# board DEVICE FIRMWARE PORT: switches it on, its log in board-DEVICE.log; sets board. QEMU connects
# anew a second after it has lost the server.
board() {
  set_qemu "${cores[$1]}"
  "${qemu[@]}" -monitor "unix:monitor-$1,server=on,wait=off" \
    -chardev "socket,id=server,host=127.0.0.1,port=$3,nodelay=on,reconnect=1" -serial chardev:server \
    -kernel "${images}/${cores[$1]}/$2" >> "board-$1.log" 2>&1 &
  board=$!
}

# proxy RECORD: from here on `port` is one behind which the link is cut once, see cutting_proxy.py.
proxy() {
  rm -f proxy_port cut
  /usr/bin/python3 -B "${source_dir}/tests/e2e/cutting_proxy.py" "${port}" "$1" proxy_port cut &
  await proxy_port
  port="$(cat proxy_port)"
}

# press_reset DEVICE
press_reset() {
  /usr/bin/python3 - "monitor-$1" << 'END'
import socket
import sys

with socket.socket(socket.AF_UNIX) as monitor:
    monitor.connect(sys.argv[1])
    monitor.sendall(b"system_reset\n")
    monitor.shutdown(socket.SHUT_WR)
    while monitor.recv(4096):
        pass
END
}

await_cut() {
  for ((i = 0; i < 600; i++)); do
    [[ ! -e cut ]] || return 0
    sleep 0.2
  done
  fail "the link was not cut"
}

expect_end() {
  local process
  for process in "$@"; do wait "${process}" || fail "process ${process} ended with status $?"; done
  grep -q '"rounds_released": '"${job[3]}" serve.json || fail "not all rounds were released"
}

expect_the_simulators_model() {
  "${bin}/sotto" simulate --devices "${job[1]}" "${job[@]}" --seed 7 --json simulate.json > simulate.log 2>&1
  local digest
  digest="$(grep -o '"parameters_sha256": "[0-9a-f]*"' simulate.json)"
  grep -qF "${digest}" serve.json || fail "the released model is not the simulator's"
  echo "as simulated: ${digest}"
}

# nonces ROUND: those under which the board uploaded, a line each.
nonces() { sed -n "s/^round $1 attempt 1: upload under nonce //p" board-0.log; }

# A round key is used once: a nonce that the board had before its reset never comes again.
expect_no_nonce_in_two_starts() {
  [[ "$(grep -c 'INSECURE' board-0.log)" == 2 ]] || fail "the board was not started twice"
  [[ -z "$(awk '/INSECURE/ { start++ } /under nonce/ { print $NF, start }' board-0.log | sort -u |
    cut -d ' ' -f 1 | uniq -d)" ]] || fail "a nonce came twice"
}

# fleet_with FIRMWARE ROUNDS MODEL OPTION...: all boards and a sotto-client in a job.
fleet_with() {
  local i started
  serve $((${#cores[@]} + 1)) "$2" --model "$3" "${noise[@]}" "${@:4}"
  started=("${server}")
  for i in "${!cores[@]}"; do
    board "${i}" "$1" "${port}"
    started+=("${board}")
  done
  i="${#cores[@]}"
  "${bin}/sotto-client" --once --server "127.0.0.1:${port}" --key "keys/sim-00000${i}.key" "${seed[@]}" \
    --model "$3" --samples "$((50 * i)):50" --data "${data}/train-images-idx3-ubyte.gz" \
    --labels "${data}/train-labels-idx1-ubyte.gz" > client.log 2>&1 &
  started+=($!)
  expect_end "${started[@]}"
  [[ "$(grep -c 'released: 6 of 6 reported' serve.log)" == "$2" ]] || fail "a device was missing"
  expect_the_simulators_model
}

fleet() {
  report_mbedtls
  fleet_with firmware_seeded 3 softmax-784-10
  # The page of a browser's tab shows this digest.
  grep -qF "\"--devices ${job[1]} ${job[*]} --seed 7\", $(grep -o '"parameters_sha256": "[0-9a-f]*"' simulate.json |
    sed 's/parameters_//')" "${source_dir}/examples/tab/native.json" || fail "examples/tab/native.json has another job or digest"
  fleet_with firmware_small_cnn 2 small-cnn --local-epochs 1
}

windows() {
  serve 1 7 --model "${source_dir}/examples/cortex_m/nets/windows.toml" --mechanism none --clip 10 --learning-rate 0.2 --model-out model.bin
  board 0 firmware_windows "${port}"
  expect_end "${server}" "${board}"
  "${bin}/windows_accuracy" model.bin 0.95 || fail "the board's net has not learned"
}

cut_link() {
  local firmware
  for firmware in firmware_seeded firmware; do
    serve 1 2 "${noise[@]}" --delta 0.01 --padding 4096
    proxy 2
    board 0 "${firmware}" "${port}"
    await_cut
    expect_end "${server}" "${board}"
    grep -q '^link: ' board-0.log || fail "the board did not notice"
    (($(nonces 1 | wc -l) >= 2)) || fail "round 1 was not uploaded in two parts"
    [[ "$(nonces 1 | sort -u | wc -l)" == 1 ]] || fail "what was cut was encoded again"
    [[ "${firmware}" != firmware_seeded ]] || expect_the_simulators_model
  done
}

switch_off() {
  serve 1 1 "${noise[@]}" --delta 0.01 --padding 4096
  proxy 2
  board 0 firmware "${port}"
  await_cut
  kill -KILL "${board}"
  wait "${board}" 2> /dev/null || true
  board 0 firmware "${port}"
  expect_end "${server}" "${board}"
  [[ "$(nonces 1 | sort -u | wc -l)" == 2 ]] || fail "there were not two trainings"
  expect_no_nonce_in_two_starts
}

press_button() {
  serve 1 3 "${noise[@]}" --delta 0.01 --padding 4096
  board 0 firmware "${port}"
  await_line board-0.log 'upload under'
  press_reset 0
  expect_end "${server}" "${board}"
  expect_no_nonce_in_two_starts
}

# gateway PORT OPTION...: from here on `port` is a gateway's, which is on that port, 0: any one.
gateway() {
  rm -f gateway_port
  "${bin}/sotto-gateway" --server "127.0.0.1:${server_port}" --listen "127.0.0.1:$1" --port-file gateway_port \
    --verbose "${@:2}" >> gateway.log 2>&1 &
  gateway=$!
  await gateway_port
  port="$(cat gateway_port)"
}

# make_samples FILE: the samples of a shard of images as two IDX files.
make_samples() {
  /usr/bin/python3 - "$1" << 'END'
import struct
import sys

shard = open(sys.argv[1], "rb").read()[-50 * 785:]
rows = [shard[785 * i:785 * (i + 1)] for i in range(50)]
with open("samples-images-idx3-ubyte", "wb") as file:
    file.write(struct.pack(">4i", 0x803, 50, 28, 28) + b"".join(row[1:] for row in rows))
with open("samples-labels-idx1-ubyte", "wb") as file:
    file.write(struct.pack(">2i", 0x801, 50) + bytes(row[0] for row in rows))
END
}

# start_anew PORT: the board as after a reset, until it has classified. Its log begins anew.
start_anew() {
  mv board-0.log "before-${SECONDS}-board.log"
  board 0 firmware_frames "$1"
  await_line board-0.log ' are right$'
  kill -KILL "${board}"
  wait "${board}" 2> /dev/null || true
}

# expect_the_final_model: in the board's flash, and its classes are the server's.
expect_the_final_model() {
  cmp -n 31400 model.bin sim-000000.model || fail "the model in flash is not the server's"
  sed -n 's/^classes: //p' board-0.log | tail -n 1 | tr ' ' '\n' > found.txt
  diff expected.txt found.txt || fail "the board's classes (>) are not the server's (<)"
  grep -qx "the released model in flash: job [0-9a-f]*, round 2, final; .*" board-0.log || fail "not the final release"
}

# The server that has served the job serves its release; the gateway is there.
fetch_and_classify() {
  make_samples "${images}/shard0.bin"
  "${bin}/sotto" model predict model.bin --model softmax-784-10 --data samples-images-idx3-ubyte --out classes.csv
  sed 1d classes.csv | cut -d , -f 1 > expected.txt
  (($(sort -u expected.txt | wc -l) > 1)) || fail "one class for all samples shows nothing"
  ! cmp -s -n 31400 model.bin sim-000000.model || fail "the board had the final model before it fetched it"
  "${bin}/sotto" serve -v --store fleet.db --listen "127.0.0.1:${server_port}" > release.log 2>&1 &
  server=$!
  start_anew "${port}"
  grep -qx 'no released model in flash' board-0.log || fail "a round's model passed for a release"
  fetched="$(sed -n 's/^fetched \([0-9]*\) bytes$/\1/p' board-0.log)"
  ((fetched > 0 && fetched < 31400 / 4)) || fail "the board fetched ${fetched} bytes"
  expect_the_final_model
  echo "fetched ${fetched} bytes; $(tail -n 1 board-0.log)"
  # A page of the flash, as a reset within a write leaves it.
  printf '\377%.0s' {1..100} | dd of=sim-000000.model bs=1 seek=9000 conv=notrunc status=none
  start_anew "${port}"
  grep -qx 'no released model in flash' board-0.log || fail "a torn model passed for a release"
  expect_the_final_model
  kill "${gateway}" "${server}"
  start_anew "${port}"
  ! grep -q 'fetched' board-0.log || fail "there is no server"
  expect_the_final_model
}

frames() {
  rm -f sim-000000.model
  serve 1 2 "${noise[@]}" --delta 0.01 --model-out model.bin
  server_port="${port}"
  gateway 0 --test-loss 0.05
  board 0 firmware_frames "${port}"
  await_line board-0.log '^round 1 .*upload under'
  kill "${gateway}"
  wait "${gateway}" || true
  gateway "${port}" --test-loss 0.05 --test-seed 2
  expect_end "${server}"
  kill -KILL "${board}"
  wait "${board}" 2> /dev/null || true
  expect_the_simulators_model
  await_line gateway.log ', [1-9][0-9]* of them again'
  grep -q '^link: kLinkLost' board-0.log || fail "the board did not notice that its gateway was another one"
  fetch_and_classify
}

reset() {
  switch_off
  press_button
}

# expect_refusal REASON JOB_OPTION...
expect_refusal() {
  local status=0
  serve 1 1 "${@:2}"
  board 0 firmware "${port}"
  wait "${board}" || status=$?
  ((status == 3)) || fail "the board ended with status ${status}"
  grep -qx "$1" board-0.log || fail "the board did not say: $1"
  ! grep -q 'upload under' board-0.log || fail "the board sent an update"
  kill "${server}"
  wait "${server}" || true
}

# expect_bad_samples FIRMWARE REASON: the board ends before it looks for a server.
expect_bad_samples() {
  local status=0
  set_qemu cortex-m4
  timeout 60 "${qemu[@]}" -monitor none -serial none -kernel "${images}/cortex-m4/$1" > samples.log 2>&1 || status=$?
  ((status == 2)) || fail "the board ended with status ${status}"
  grep -qx "the samples in flash: $2" samples.log || fail "the board did not say: $2"
}

refusal() {
  expect_bad_samples firmware_headless 'no shard: use the sotto-shard of this build'
  expect_bad_samples firmware_damaged 'damaged: copy the shard again'
  expect_refusal 'this job has too little privacy for this device' --mechanism none
  expect_refusal 'the server serves another model' --model softmax-64-10 --delta 0.01 "${noise[@]}"
}

# The simulator's fleet as real nodes. directory OPTION...: sets port and directory.
# directory PORT OPTION...: on that port, 0: any one; sets port and directory.
directory() {
  rm -f port
  "${bin}/sotto" peers directory --store fleet.db --state state --job job.toml --model ova-logistic --relay \
    --order turns --peers 5 "${seed[@]}" --lease 10 --listen "127.0.0.1:$1" --port-file port \
    --json directory.json --model-out head.bin "${@:2}" >> directory.log 2>&1 &
  directory=$!
  await port
  port="$(cat port)"
}

peer_client() {
  "${bin}/sotto-client" --peer --server "127.0.0.1:${port}" --key "keys/sim-00000$1.key" "${seed[@]}" \
    --job job.toml --model ova-logistic --share coin:0.5 --data "../images/${peer_data}" \
    --labels "../images/train-labels-idx1-ubyte" --device "$1" --devices 5 --samples-per-device 60 \
    --partition-seed 7 --json "node-$1.json" >> "node-$1.log" 2>&1 &
  peer_client=$!
}

# start_peers OPTION...: of the directory.
start_peers() {
  local here="${PWD}"
  rm -rf fleet.db* keys state ./*.log ./*.json ./sim-00000*
  (cd "${images}" && "${bin}/sotto" peers simulate "${peer_fleet[@]}" "${peer_job[@]}" \
    "${peer_numbers[@]}" --seed 7 --job-out "${here}/job.toml" --model-out "${here}/simulated.bin") \
    > simulate.txt 2>&1 || fail "simulate: $(cat simulate.txt)"
  "${bin}/sotto" keys new fleet.db --count 5 "${seed[@]}" --out keys > /dev/null
  directory 0 "$@"
}

# Every published step has one publication only, however often its node was started.
expect_one_publication_a_step() {
  local i
  for i in 0 1 2; do
    [[ -z "$(sed -n 's/^step \([0-9]*\) of .*publication fixed, version \([0-9]*\)$/\1 \2/p' "board-${i}.log" |
      sort -u | cut -d ' ' -f 1 | uniq -d)" ]] || fail "board ${i} published a step twice"
  done
}

# expect_the_simulated_head STATUS: of the directory.
expect_the_simulated_head() {
  local status=0
  wait "${directory}" || status=$?
  ((status == $1)) || fail "the directory ended with status ${status}"
  cmp head.bin simulated.bin || fail "the head is not the simulator's model"
  echo "the head is the simulator's model: $(sha256sum < head.bin)"
}

# The last answer to a board may be lost, as an emulated UART loses bytes: the directory waits for it.
undisturbed_peers() {
  local i started=()
  start_peers --stay
  for i in 0 1 2; do
    board "${i}" peer_seeded "${port}"
    started+=("${board}")
  done
  for i in 3 4; do
    peer_client "${i}"
    started+=("${peer_client}")
  done
  for i in "${started[@]}"; do wait "${i}" || fail "a node ended with status $?"; done
  kill -TERM "${directory}"
  expect_one_publication_a_step
  expect_the_simulated_head 143
}

all_have_finished() { grep -q '"finished": true' directory.json 2> /dev/null && cmp -s head.bin simulated.bin; }

# restarted NODE: a board or client that is killed at times that differ, until its fifth start. One
# that was killed after its last step finds no directory any more.
restarted() {
  local start process i
  for start in 1 2 3 4 5; do
    if (($1 < 3)); then
      board "$1" peer_seeded "${port}"
      process="${board}"
    else
      peer_client "$1"
      process="${peer_client}"
    fi
    if ((start < 5)); then
      sleep "$((1 + ($1 + start) % 3)).$((RANDOM % 10))"
    else
      for ((i = 0; i < 900; i++)); do
        kill -0 "${process}" 2> /dev/null || break
        ! all_have_finished || break
        sleep 0.1
      done
    fi
    kill -KILL "${process}" 2> /dev/null || true
    wait "${process}" 2> /dev/null || true
    ! all_have_finished || return 0
  done
}

killed_peers() {
  local i started=()
  start_peers
  for i in 0 1 2 3 4; do
    restarted "${i}" &
    started+=($!)
  done
  for i in 1 2; do
    sleep 4
    ! all_have_finished || break
    kill -KILL "${directory}" 2> /dev/null || break
    wait "${directory}" 2> /dev/null || true
    directory "${port}"
  done
  for i in "${started[@]}"; do wait "${i}" || fail "a node did not end"; done
  expect_one_publication_a_step
  expect_the_simulated_head 0
}

peers() {
  undisturbed_peers
  killed_peers
}

port() {
  local core
  rm -f port
  /usr/bin/python3 -B "${source_dir}/tests/device/echo_server.py" port &
  await port
  for core in "${cores[@]}"; do
    rm -f port_check.*
    set_qemu "${core}"
    "${qemu[@]}" -monitor none \
      -chardev "socket,id=echo,host=127.0.0.1,port=$(cat port),nodelay=on" -serial chardev:echo \
      -kernel "${images}/${core}/bin/port_check" ||
      fail "the port breaks its rules on ${core}"
  done
}

# A save is some 40 writes, and a kill comes at a random time: most kills cut a save.
store() {
  local core=cortex-m4 last=0 found saved start
  rm -f store_check.* store.log
  set_qemu "${core}"
  for ((start = 1; start <= 25; start++)); do
    : > store.log  # else a board that starts late is found in the log of the one before
    "${qemu[@]}" -monitor none -serial none -kernel "${images}/${core}/bin/store_check" > store.log 2>&1 &
    board=$!
    await_line store.log '^found [0-9]*\.$'
    sleep "0.$((RANDOM % 40 + 10))"
    kill -KILL "${board}" || fail "start ${start}: the board had ended"
    wait "${board}" 2> /dev/null || true
    found="$(sed -n 's/^found \([0-9]*\)\.$/\1/p' store.log)"
    ((found == last || found == last + 1)) || fail "start ${start}: found ${found} after ${last}"
    saved="$(sed -n 's/^saved \([0-9]*\)\.$/\1/p' store.log | tail -n 1)"
    last="${saved:-${found}}"
  done
  ((last >= 25)) || fail "only ${last} records were saved"
  echo "25 kills, ${last} records saved, none lost"
}

# The blocks 4 to 7 of the page: the board again, through a gateway that loses frames. It is switched
# off when the job is over, fetches the final model at its next start, and classifies as the server does.
readme_frames() {
  local parts=()
  rm -f port gateway_port lossy-000000.model
  sed -i -e 's#^build/host/bin/sotto serve #exec &--listen 127.0.0.1:0 --port-file port #' \
    -e 's#^build/host/bin/sotto-gateway #exec &--port-file gateway_port #' -e 's#127.0.0.1:7178#127.0.0.1:0#' \
    -e 's#^qemu-system-arm #exec &#' -e "s#build/host/bin/#${bin}/#" block4.sh block5.sh block6.sh block7.sh
  bash -e block4.sh > server2.log 2>&1 &
  parts=($!)
  await port
  sed -i -e "s#7177#$(cat port)#" block5.sh
  bash -e block5.sh > gateway.log 2>&1 &
  parts+=($!)
  await gateway_port
  sed -i -e "s#7178#$(cat gateway_port)#" block6.sh
  bash -e block6.sh > board2.log 2>&1 &
  board=$!
  await_line server2.log 'all 3 rounds of the plan are released'
  kill -INT "${board}"
  wait "${board}" || true
  bash -e block6.sh > board3.log 2>&1 &
  board=$!
  await_line board3.log ' are right$'
  kill "${board}"
  bash -e block7.sh > block7.log 2>&1 || fail "block 7 of the page"
  grep -qx "$(sed -n 's/^classes: //p' board3.log)" block7.log || fail "the board's classes are not the server's"
  grep -qx 'the same parameters' block7.log || fail "the board's model is not the server's"
  (($(sed -n 's/ of 50 are right$//p' board3.log) >= 40)) || fail "the board's net has not learned"
  awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside' "${source_dir}/examples/cortex_m/README.md" > shown.txt
  # The nonces decide over the order of the samples, and so over these figures.
  sed -i -e '/^qemu-/d' -e 's/job [0-9a-f]*,/job X,/' -e 's/^fetched [0-9]*/fetched N/' -e 's/^classes: .*/classes:/' \
    -e 's/^[0-9]* of 50/N of 50/' shown.txt board3.log
  diff shown.txt board3.log || fail "the page (<) shows another second start"
  await_line gateway.log ', [1-9][0-9]* of them again'
  kill "${parts[@]}"
}

# The bash blocks of the page as block1.sh, block2.sh and so on, each for another shell.
readme() {
  local started process
  # The last run has left the option of the page's last session in the cache.
  rm -rf fleet.db* lossy* keys port ./*.log board-0.* build/board-0/CMakeCache.txt
  awk '
    /^```bash$/ { inside = 1; file = "block" ++count ".sh"; printf "" > file; next }
    /^```/ { inside = 0 }
    inside { print > file }
    END { exit count != 7 }' "${source_dir}/examples/cortex_m/README.md"
  sed -i -e 's#^build/host/bin/sotto serve #exec &--listen 127.0.0.1:0 --port-file port #' \
    -e 's#^qemu-system-arm #exec &#' block1.sh block2.sh
  sed -i -e "s#build/host/bin/#${bin}/#" -e "s# examples/# ${source_dir}/examples/#" \
    -e "s#\"\$PWD\"/toolchains/#${source_dir}/toolchains/#" block1.sh
  bash -e block1.sh > server.log 2>&1 &
  started=($!)
  while [[ ! -s port ]]; do
    kill -0 "${started[0]}" 2> /dev/null || fail "no server"
    sleep 0.1
  done
  sed -i -e "s#build/host/bin/#${bin}/#" -e "s#7177#$(cat port)#" block2.sh block3.sh
  bash -e block2.sh > board.log 2>&1 &
  started+=($!)
  bash -e block3.sh > client.log 2>&1 &
  started+=($!)
  for process in "${started[@]}"; do wait "${process}" || fail "a block of the page failed"; done
  grep -q 'all 2 rounds of the plan are released' server.log || fail "not all rounds were released"
  readme_frames
}

skip_what_is_missing
case "${test}" in
  images)
    build_images
    refuse_the_wrong
    ;;
  fleet | windows | cut_link | frames | reset | refusal | peers | port | store | readme) "${test}" ;;
  *) exit 2 ;;
esac
