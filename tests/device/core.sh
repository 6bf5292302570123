#!/usr/bin/env bash
# core.sh SOURCE_DIR CORE LEVEL WORK_DIR [CMAKE_OPTION...]
# What a bare-metal core must show, built at -O2 or -Os (LEVEL: O2, Os) in WORK_DIR/CORE-LEVEL, in which table.sh
# measures: golden values, and that the smallest device of examples, in C, sends the update of the one in C++; one of
# SMALL_CORES also the rules of a port with its UART on an echo server, which the others show as images of board.sh, and
# what the port makes of faults.
# Skipped, 77, where a compiler, an emulator or a source is missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"
cd "$1"
core="$2" level="$3"
mkdir -p "$4"
work="$(cd "$4" && pwd)"

missing="$(missing_for "${core}")"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi
configure_core "${core}" "${level}" "${work}" "${@:5}"
targets=(golden)
[[ "${level}" != Os ]] || targets+=(minimal_c minimal_cpp)
! is_small_core "${core}" || targets+=(port_check fault_check)
cmake --build "${work}/${core}-${level}" --target "${targets[@]}" --parallel 1
trap 'kill "${echo_server-}" 2> /dev/null || true' EXIT
set_qemu "${core}"
qemu+=(-monitor none)
cd "${work}/${core}-${level}"

# The board has more instructions than an M0+.
[[ "${core}" != cortex-m0plus ]] || arm-none-eabi-readelf -A bin/golden | grep 'Tag_CPU_arch: v6S-M'

timeout 300 "${qemu[@]}" -serial none -kernel bin/golden
if [[ "${level}" == Os ]]; then
  for device in minimal_c minimal_cpp; do
    timeout 60 "${qemu[@]}" -serial none -kernel "${device}" > "${device}.txt" 2>&1
  done
  grep '^update: 64 bytes' minimal_c.txt
  diff minimal_c.txt minimal_cpp.txt
fi
is_small_core "${core}" || exit 0

rm -f port port_check.*
/usr/bin/python3 -B "${OLDPWD}/tests/device/echo_server.py" port &
echo_server=$!
for ((i = 0; i < 600; i++)); do
  [[ ! -s port ]] || break
  sleep 0.1
done
timeout 120 "${qemu[@]}" -chardev "socket,id=echo,host=127.0.0.1,port=$(cat port),nodelay=on" -serial chardev:echo \
  -kernel bin/port_check
echo 'the port keeps the rules'

# expect STATUS TEXT DEED: of fault_board.cc, which takes its deed from the model's flash. A core that has no stack
# left to handle a fault with locks up, and QEMU aborts with its state: `fatal` is enough of that.
expect() {
  local status=0 flash output
  flash="$("${nm}" bin/fault_check | sed -n 's/ . sotto_model_flash_begin$//p')"
  output="$(timeout 60 "${qemu[@]}" -serial none -device "loader,addr=0x${flash},data=$3,data-len=1" \
    -kernel bin/fault_check 2>&1)" || status=$?
  [[ "${status}" == "$1" && "${output}" == *"$2"* ]] || {
    echo "FAILED: deed $3 ended with ${status}: ${output}"
    exit 1
  }
}
nm=arm-none-eabi-nm
[[ "${core}" != rv32* ]] || nm=riscv64-unknown-elf-nm
expect 0 '' 0
expect 0 '' 1
if [[ "${core}" == rv32* ]]; then
  expect 125 'exception 2' 2
  for deed in 3 4 5; do expect 125 'exception 7' "${deed}"; done
else
  for deed in 2 3; do expect 125 'exception 03' "${deed}"; done
  expect 134 'fatal: Lockup' 4
fi
echo 'faults end the program, which says so'
