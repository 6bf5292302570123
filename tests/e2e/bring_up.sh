#!/usr/bin/env bash
# bring_up.sh SOURCE_DIR WORK_DIR BIN_DIR
# The session of examples/bring_up/README.md as it stands there: only ports, folders of sources and programs, and the serial
# device are changed.
#   emulated  blocks 1 to 3: ten lines, none of them FAILED, the shape of the page's
#   own       blocks 4 to 6: a board of a user's, an STM32F405 under a copy of ports/template, on a pseudo
#             terminal behind sotto-gateway --serial; its only UART carries frames and lines
#   broken    that board with a clock that is too slow and entropy that repeats: both rules are named, no
#             byte of a round is sent
#   wrong     a server of another model, a key of another store, no server and no gateway: the board says which
# Skipped, 77, where a compiler, an emulator or a source is missing.
set -euo pipefail
source_dir="$1" bin="$3"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"
missing="$(cd "${source_dir}" && missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi
page="${source_dir}/examples/bring_up/README.md"
trap 'jobs -pr | xargs -r kill 2> /dev/null || true' EXIT

fail() {
  tail -n 30 ./*.log
  echo "FAILED: $*"
  exit 1
}

# await FILE PATTERN: until the file has such a line.
await() {
  for ((i = 0; i < 600; i++)); do
    ! grep -aq -e "$2" "$1" 2> /dev/null || return 0
    sleep 0.1
  done
  fail "$1 does not say '$2' within a minute"
}

# stop PROCESS...
stop() {
  kill "$@" 2> /dev/null || true
  wait "$@" 2> /dev/null || true
}

# The blocks of the page as block1.sh, ... and my_board.cmake. The user's board is built in the folder of the
# emulated one, so that the SDK is compiled once.
take_blocks() {
  awk '
    /^```(bash|cmake)$/ { inside = 1; file = $0 ~ /cmake/ ? "my_board.cmake" : "block" ++count ".sh"; printf "" > file; next }
    /^```/ { inside = 0 }
    inside { print > file }
    END { exit count != 6 }' "${page}" || fail "the page has not six blocks"
  sed -i -e "s#build/host/bin/#${bin}/#" -e "s# examples/# ${source_dir}/examples/#" \
    -e "s# ports/template# ${source_dir}/ports/template#" -e "s#\"\$PWD\"/toolchains/#${source_dir}/toolchains/#" \
    -e 's#^cmake -S #cmake -DSOTTO_WARNINGS_AS_ERRORS=ON -S #' -e 's#build/my_board#build/bring_up#' \
    -e 's#^[^ ]*/sotto serve #exec &--listen 127.0.0.1:0 --port-file port #' \
    -e 's#^[^ ]*/sotto-gateway #exec &--port-file gateway_port #' -e 's#^qemu-system-arm #exec &#' \
    -e '/^[^ ]*\/sotto keys new /a cp desk.db fresh.db' block*.sh
}

# gateway BLOCK: sets gateway.
gateway() {
  rm -f gateway_port
  sed -e "s#7177#$(cat port)#" -e 's#127.0.0.1:7178#127.0.0.1:0#' "$1" > gateway.sh
  bash -e gateway.sh > gateway.log 2>&1 &
  gateway=$!
}

# emulated_board [STATUS]: the board of block 3 at that gateway, its lines in board.log.
emulated_board() {
  local status=0
  await gateway_port .
  sed "s#7178#$(cat gateway_port)#" block3.sh > board.sh
  timeout 100 bash -e board.sh > board.log 2>&1 || status=$?
  ((status == ${1-0})) || fail "the board ended with status ${status}"
}

# expect_ten_lines FILE FAILURES
expect_ten_lines() {
  (($(wc -l < "$1") == 10)) || fail "not ten lines: $(cat "$1")"
  (($(grep -c '^FAILED ' "$1") == $2)) || fail "not $2 failures: $(cat "$1")"
  grep -qx "$2 failures; send these ten lines to the project" "$1" || fail "the last line: $(tail -n 1 "$1")"
}

# The figures differ from run to run, version and compiler from checkout to checkout.
shape() { sed -E -e '1,2d' -e 's/^entropy [0-9a-f]{16},/entropy X,/' -e 's/[0-9]+/N/g' "$1"; }

emulated() {
  bash -e block1.sh > server.log 2>&1 &
  server=$!
  for ((i = 0; i < 3000; i++)); do
    [[ ! -s port ]] || break
    kill -0 "${server}" 2> /dev/null || fail "block 1 of the page"
    sleep 0.1
  done
  gateway block2.sh
  emulated_board
  expect_ten_lines board.log 0
  await server.log 'round 1/20 released: 1 of 1 reported'
  awk '/^```text$/ { inside = 1; text = ""; next } /^```/ { if (text ~ /^Sotto/) printf "%s", text; text = ""; inside = 0 } inside { text = text $0 "\n" }' \
    "${page}" > shown.txt
  diff <(shape shown.txt) <(shape board.log) || fail "the page (<) shows other lines"
  cat board.log
  stop "${gateway}"
}

# uart_lines: what the user's board has said on the UART of its frames.
uart_lines() { grep -aoE '(Sotto [0-9].* on |Armv|FAILED |arithmetic: |clock: |entropy |store: |one private|milliseconds: |bytes: |[0-9]+ failures).*' uart.log | tr -d '\r' | head -n 10; }

own() {
  bash -e block4.sh
  cp "${source_dir}"/tests/e2e/bring_up/* my_board.cmake my_board
  bash -e block5.sh > build.log 2>&1 || fail "block 5 of the page"
  qemu-system-arm -M netduinoplus2 -display none -monitor none -chardev pty,id=wire,logfile=uart.log \
    -serial chardev:wire -kernel build/bring_up/bring_up > board.log 2>&1 &
  board=$!
  await board.log '/dev/pts/'
  sed "s#/dev/ttyACM0#$(grep -o '/dev/pts/[0-9]*' board.log)#" block6.sh > serial.sh
  gateway serial.sh
  await uart.log 'send these ten lines'
  await server.log 'round 2/20 released: 1 of 1 reported'
  stop "${board}" "${gateway}" "${server}"
  uart_lines > lines.txt
  expect_ten_lines lines.txt 0
  cat lines.txt
}

broken() {
  # shellcheck disable=SC2016
  echo 'set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/my_board.cc PROPERTIES COMPILE_DEFINITIONS "BROKEN_CLOCK;BROKEN_ENTROPY")' \
    >> my_board/my_board.cmake
  cmake --build build/bring_up > build.log 2>&1 || fail "the broken board does not build"
  rm -f uart.log
  qemu-system-arm -M netduinoplus2 -display none -monitor none -serial file:uart.log -kernel build/bring_up/bring_up &
  board=$!
  await uart.log 'send these ten lines'
  stop "${board}"
  uart_lines > lines.txt
  expect_ten_lines lines.txt 3
  for line in 'FAILED clock: it is slower than milliseconds; ports/PORTING.md, 2' \
    'FAILED entropy: a bit is the same in 64 requests in a row; ports/PORTING.md, 3' \
    'FAILED round: not tried; mend first what failed above'; do
    grep -qxF "${line}" lines.txt || fail "the board did not say: ${line}: $(cat lines.txt)"
  done
}

# expect_failure TEXT: of the emulated board in this round, and of nothing else.
expect_failure() {
  grep -v '^qemu' board.log > lines.txt
  expect_ten_lines lines.txt 1
  grep -qF "FAILED round: $1" board.log || fail "the board did not say: $1: $(cat board.log)"
}

# other_server STORE OPTION...: sets server and port.
other_server() {
  rm -f port
  "${bin}/sotto" serve "$1" --cohort 1 --rounds 1 --noise-multiplier 1 --colluders 0 --delta 0.01 \
    --listen 127.0.0.1:0 --port-file port "${@:2}" > server.log 2>&1 &
  server=$!
  await port .
}

wrong() {
  cmake build/bring_up -DSOTTO_BOARD= -DSOTTO_ROUND_SECONDS=8 > cmake.log
  cmake --build build/bring_up > build.log 2>&1 || fail "the emulated board does not build again"
  "${bin}/sotto" keys new other.db --count 1 --prefix desk- > keys.log
  other_server other.db --model softmax-64-10
  gateway block2.sh
  emulated_board 1
  expect_failure 'the server does not accept the key; export it anew'
  stop "${server}" "${gateway}"
  gateway block2.sh
  emulated_board 1
  expect_failure 'no server behind sotto-gateway'
  stop "${gateway}"
  emulated_board 1
  expect_failure 'no frame came back'
  other_server fresh.db --model softmax-784-10
  gateway block2.sh
  emulated_board 1
  expect_failure 'the server trains another model; start its job with --model softmax-64-10 (kModelMismatch)'
  stop "${server}" "${gateway}"
}

rm -rf desk.db* fresh.db* other.db* keys my_board my_board.cmake desk-0.h port gateway_port ./*.log bring_up.* build/bring_up/CMakeCache.txt
take_blocks
emulated
own
broken
wrong
