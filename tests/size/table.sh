#!/usr/bin/env bash
# table.sh PROGRAMS [--update|--check|--check-all [WORK_DIR]]
# Prints, as Markdown tables, what a device needs on each core: flash, RAM, stack and instructions. The
# device without TLS is measured alone (device.h). The firmware of examples/cortex_m, with plain PSK,
# with ECDHE-PSK and as it resumes sessions, takes part in a job under QEMU and prints the use of stack and TLS pool. The stack's
# bound comes from the call graph (tests/device/call_graph.py). PROGRAMS is the folder of sotto and
# sotto-shard. It builds in WORK_DIR, build/size unless told. With --update the tables replace those in
# sdk/FOOTPRINT.md, and their copies in other pages follow (page_numbers.sh). --check fails, 1, if a figure is
# more than 5 % above the published one (10 % of the TLS pool), if a count is above the tables in sdk/LRQ.md
# and sdk/TRAINING.md, if the stack's use is above its bound, or if a net in float32 misses its target: 8
# instructions a multiply-accumulate, 10 million a sample and 90 KB of workspace for lenet. It builds the firmware with TLS
# for a Cortex-M4 alone, which takes a third of the time; --check-all does so for each core. 77: something that this needs is
# missing.
set -euo pipefail
programs="$(cd "$1" && pwd)" mode="${2-}"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

missing="$(missing_for cortex-m4)"
[[ -d /usr/share/datasets/fashion-mnist ]] || missing+=" Fashion-MNIST (package dataset-fashion-mnist)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi

cpus=(cortex-m4 cortex-m3 cortex-m7 cortex-m33 cortex-m55)
for cpu in "${SMALL_CORES[@]}"; do
  missing="$(missing_for "${cpu}")"
  if [[ -n "${missing}" ]]; then
    echo "NOT MEASURED: ${cpu}, no ${missing//$'\n'/, no }" >&2
  else
    cpus+=("${cpu}")
  fi
done
declare -A cores=([cortex-m3]=M3 [cortex-m4]=M4F [cortex-m7]=M7 [cortex-m33]=M33 [cortex-m55]=M55
  [cortex-m0plus]=M0+ [rv32imac]=RV32IMAC [rv32imafc]=RV32IMAFC)
mkdir -p "${3-build/size}"
work="$(cd "${3-build/size}" && pwd)"

prepare_device() {
  rm -f "${work}"/device.{db*,h,bin}
  "${programs}/sotto" keys new "${work}/device.db" --count 1 --prefix board-
  "${programs}/sotto" keys export "${work}/device.db" board-000000 --header "${work}/device.h"
  "${programs}/sotto-shard" --device 0 --samples 50 --out "${work}/device.bin"
}

# build FOLDER "TARGET..." COMMAND...: by the command, which configures the folder; says what went wrong if it fails.
build() {
  local targets
  read -ra targets <<< "$2"
  { "${@:3}" && cmake --build "${work}/$1" --target "${targets[@]}" --parallel 2; } > "${work}/$1.log" 2>&1 || {
    tail -n 30 "${work}/$1.log" >&2
    return 1
  }
}

# configure_firmware FOLDER CORE CMAKE_OPTION...
configure_firmware() {
  cmake -S examples/cortex_m -B "${work}/$1" -G Ninja --toolchain "${PWD}/toolchains/$(toolchain_of "$2")" \
    "-DSOTTO_CPU=$2" -DSOTTO_INSECURE_ENTROPY=ON -DSOTTO_DEVICE_KEY="${work}/device.h" \
    -DSOTTO_DEVICE_SHARD="${work}/device.bin" "${@:3}"
}

# emulate CPU PROGRAM OPTION...: what the program prints.
emulate() {
  set_qemu "$1"
  timeout 300 "${qemu[@]}" -monitor none "${@:3}" -kernel "$2" 2>&1
}

# sizes PROGRAM SAMPLES: "FLASH | RAM" in bytes, without that many bytes of samples and the stack.
sizes() {
  size -A "$1" | awk -v samples="$2" '
    $1 ~ /^\.(text|ARM\.exidx|ARM\.extab|constructors|data)$/ { flash += $2 }
    $1 ~ /^\.(data|bss)$/ { ram += $2 }
    END { printf "%d | %d", flash - samples, ram }'
}

# take_part CPU FIRMWARE: the firmware's log of a job of one round.
take_part() {
  local server
  rm -f "${work}"/run.db* "${work}/port"
  # This runs in a subshell, whose end the server must not survive.
  trap 'kill "${server-}" 2> /dev/null || true' EXIT
  cp "${work}/device.db" "${work}/run.db"
  "${programs}/sotto" serve "${work}/run.db" --once --cohort 1 --rounds 1 --noise-multiplier 1 \
    --colluders 0 --delta 0.01 --close-early --listen 127.0.0.1:0 --port-file "${work}/port" \
    > "${work}/serve.log" 2>&1 &
  server=$!
  for ((i = 0; i < 600; i++)); do
    [[ ! -s "${work}/port" ]] || break
    sleep 0.1
  done
  emulate "$1" "$2" -serial chardev:server -chardev \
    "socket,id=server,host=127.0.0.1,port=$(cat "${work}/port"),nodelay=on,reconnect=1"
  kill "${server}" 2> /dev/null || true
  wait "${server}" || true
}

# bound FOLDER PROGRAM: bytes of its stack at most, or a dash if there is a fault, and for RISC-V, whose instructions
# call_graph.py does not read.
bound() {
  local folder="${work}/$1" line
  [[ "$1" != rv32* ]] || {
    echo -
    return
  }
  line="$(/usr/bin/python3 -B tests/device/call_graph.py "${folder}/$2" "${folder}/CMakeFiles/$2.dir" \
    "${folder}/sotto/sdk" "${folder}/sotto/ports")" || line=-
  echo "${line% of *}"
}

# number LOG NAME: N, at least 1, of its line "NAME: N ...", or a dash.
number() {
  local n
  n="$(sed -n "s/^$2: \([1-9][0-9]*\)\( .*\)\?$/\1/p" <<< "$1")"
  echo "${n:--}"
}

# levels CPU: those at which it is measured. An M7 and an M33 execute within 1 % what an M4F does.
levels() {
  case "$1" in
    cortex-m[34] | cortex-m55) echo O2 Os ;;
    *) echo Os ;;
  esac
}

# measure CPU LEVEL: the programs of the device without TLS that a table shows at this level, one log.
measure() {
  local program targets programs=(device_memory bin/instructions bin/training_instructions)
  [[ "$1" != cortex-m4 ]] || programs+=(bin/net_instructions)
  [[ "$1" != cortex-m[34] ]] || programs+=(bin/predict_instructions)
  targets=("${programs[@]#bin/}")
  [[ "$1" != cortex-m[34] ]] || targets+=(predict_float predict_int32_t)
  if [[ "$2" == Os ]]; then
    targets+=(device_uart)
    [[ "$1" != cortex-m[34] ]] || targets+=(link_0 link_20 link_64 link_250)
  fi
  build "$1-$2" "${targets[*]}" configure_core "$1" "$2" "${work}"
  for program in "${programs[@]}"; do
    emulate "$1" "${work}/$1-$2/${program}" -serial none -icount shift=0
  done
}

memory_rows() {
  local cpu="$1" core="${cores[$1]}" name names=() folder log
  case "${cpu}" in
    cortex-m4) names=(PSK ECDHE-PSK "ECDHE-PSK, resumes") ;;
    cortex-m3 | cortex-m33 | cortex-m55) [[ "${mode}" == --check ]] || names=(PSK ECDHE-PSK) ;;
  esac
  log="$(cat "${work}/${cpu}-Os.txt")"
  echo "| ${core} | no TLS | $(sizes "${work}/${cpu}-Os/device_uart" 0) |" \
    "$(bound "${cpu}-Os" device_uart) | $(number "${log}" stack) | - |"
  for name in "${names[@]}"; do
    folder="${cpu}-${name/, /-}"
    build "${folder}" firmware configure_firmware "${folder}" "${cpu}" \
      "-DSOTTO_FORWARD_SECRECY=$([[ "${name}" == PSK ]] && echo OFF || echo ON)" \
      "-DSOTTO_RESUME_TLS=$([[ "${name}" == *resumes ]] && echo ON || echo OFF)"
    log="$(take_part "${cpu}" "${work}/${folder}/firmware")"
    echo "| ${core} | ${name} |" \
      "$(sizes "${work}/${folder}/firmware" "$(stat -c %s "${work}/device.bin")") |" \
      "$(bound "${folder}" firmware) |" \
      "$(number "${log}" stack) | $(number "${log}" 'TLS pool') |"
  done
}

# The program `instructions` counts in tenths.
instruction_row() {
  local log
  log="$(cat "${work}/$1-$2.txt")"
  awk -F ': *' -v row="| ${cores[$1]} | -$2 |" '
    { n[$1] = $2 }
    END {
      print row, n["softmax-784-10"], "|", n["softmax-784-10-q"], "|", n["softmax-64-10"], "|",
        n["softmax-64-10-q"], "|", int(n["encode, fixed-length code (dither included)"] / 10 + 0.5), "|",
        int(n["encode, range code (dither included)"] / 10 + 0.5), "|", n["round"], "|"
    }' <<< "${log}"
}

print_memory() {
  local cpu
  echo '| core | link | flash | static RAM | stack, bound | stack, used | TLS pool, used |'
  echo '|---|---|---|---|---|---|---|'
  for cpu in "${cpus[@]}"; do memory_rows "${cpu}"; done
}

print_instructions() {
  local cpu level
  echo '| core | compiled | sample, 784-10 | 784-10-q | 64-10 | 64-10-q | coordinate, fixed | range | round |'
  echo '|---|---|---|---|---|---|---|---|---|'
  for cpu in "${cpus[@]}"; do
    for level in $(levels "${cpu}"); do instruction_row "${cpu}" "${level}"; done
  done
}

# The logs of -O2 and -Os side by side: "NAME: N" each. Layers count in tenths.
print_nets() {
  echo '| Cortex-M4F, float32 | -O2 | -Os |'
  echo '|---|---|---|'
  paste -d : "${work}"/cortex-m4-{O2,Os}.txt | awk -F ': *' '
    /^(conv|depthwise|dense|lstm) / { printf "| %s | %.1f | %.1f |\n", $1, $2 / 10, $4 / 10 }
    /^sample of / { printf "| sample of `%s` | %d | %d |\n", substr($1, 11), $2, $4 }
    /^(workspace|RAM) of / { split($1, of, " of "); printf "| %s of `%s`, bytes | %d | %d |\n", of[1], of[2], $2, $4 }'
}

# predict_flash NUMBER: of a Cortex-M4F and a Cortex-M3, at -O2 and -Os, without the parameters.
predict_flash() {
  local cpu level program
  for cpu in cortex-m4 cortex-m3; do
    for level in O2 Os; do
      program="${work}/${cpu}-${level}/predict_$1"
      echo -n " $(($(sizes "${program}" 0 | cut -d ' ' -f 1) - 4 * 9098)) |"
    done
  done
  echo
}

# rows_of WHAT: the logs of two cores side by side, "WHAT NAME: N" each.
rows_of() {
  paste -d : <(grep "^$1" "${work}/cortex-m4-O2.txt") <(grep "^$1" "${work}/cortex-m4-Os.txt") \
    <(grep "^$1" "${work}/cortex-m3-O2.txt") <(grep "^$1" "${work}/cortex-m3-Os.txt") |
    awk -F ': *' -v skip="$((${#1} + 2))" '{ printf "| %s | %d | %d | %d | %d |\n", substr($1, skip), $2, $4, $6, $8 }'
}

print_predictions() {
  echo '| one prediction | Cortex-M4F, -O2 | -Os | Cortex-M3, -O2 | -Os |'
  echo '|---|---|---|---|---|'
  rows_of predict
  rows_of features
  echo "| flash, \`small-cnn\`, bytes |$(predict_flash float)"
  echo "| flash, \`small-cnn-q\`, bytes |$(predict_flash int32_t)"
}

# link_row CPU FRAME WINDOW: what a frame link of a UART takes beside the UART.
link_row() {
  local with without
  with="$(sizes "${work}/$1-Os/link_$2" 0)"
  without="$(sizes "${work}/$1-Os/link_0" 0)"
  echo "| ${cores[$1]} | $2 | $3 | $((${with% |*} - ${without% |*})) | $((${with#*| } - ${without#*| })) |"
}

print_links() {
  local cpu
  echo '| core | frame | window | flash | RAM |'
  echo '|---|---|---|---|---|'
  for cpu in cortex-m4 cortex-m3; do
    link_row "${cpu}" 20 16
    link_row "${cpu}" 64 16
    link_row "${cpu}" 250 4
  done
}

# Client and server in one image, with ECDHE-PSK: "handshake, KIND: N: SENT: RECEIVED: TURNS" each.
print_handshakes() {
  echo '| TLS handshake, Cortex-M4F, -Os | instructions | bytes sent | bytes received | turns |'
  echo '|---|---|---|---|---|'
  awk -F ': *' '/^handshake, / { print "| " substr($1, 12) " | " $2 " | " $3 " | " $4 " | " $5 " |" }' \
    "${work}/handshake.txt"
}

measure_handshakes() {
  build handshake handshake configure_firmware handshake cortex-m4 -DSOTTO_DEVICE_TESTS=ON -DSOTTO_RESUME_TLS=ON \
    "-DSOTTO_MBEDTLS_CONFIG=${PWD}/tests/size/mbedtls_both.h"
  emulate cortex-m4 "${work}/handshake/handshake" -serial none -icount shift=0
}

# check_page PAGE MARKER DIVISOR LOG...: fails where a count of these logs, divided, is more than 5 % above the
# table below the page's marker, which has a column for each log, or is missing.
check_page() {
  local page="$1" marker="$2" divisor="$3"
  shift 3
  awk -F ': *' -v page="${page}" -v divisor="${divisor}" -v logs="$#" '
    FNR == 1 { log_number++ }
    log_number <= logs { count[log_number, $1] = $2 / divisor; next }
    {
      rows++
      split($0, limit, / *[|] */)
      name = limit[2]
      gsub("`", "", name)
      for (i = 1; i <= logs; i++) {
        if (count[i, name] + 0 > 0 && count[i, name] <= limit[i + 2] * 1.05) continue
        print page ": " name ": " count[i, name] " instead of " limit[i + 2]
        bad = 1
      }
    }
    END { exit bad || !rows }' "$@" <(sed -n "/^<!-- ${marker}/,/^\$/{ /^|/p; }" "${page}" | tail -n +3)
}

prepare_device > "${work}/device.log" 2>&1
for cpu in "${cpus[@]}"; do
  for level in $(levels "${cpu}"); do measure "${cpu}" "${level}" > "${work}/${cpu}-${level}.txt"; done
done
measure_handshakes > "${work}/handshake.txt"
print_memory | tee "${work}/memory.md"
echo
print_instructions | tee "${work}/instructions.md"
echo
print_nets | tee "${work}/nets.md"
echo
print_predictions | tee "${work}/predictions.md"
echo
print_links | tee "${work}/links.md"
echo
print_handshakes | tee "${work}/handshakes.md"

case "${mode}" in
  --update)
    # A table in the page is what follows its marker, up to an empty line.
    for table in memory instructions nets predictions links handshakes; do
      sed -i -e "/^<!-- ${table}/,/^\$/ { /^|/d; }" -e "/^<!-- ${table}/r ${work}/${table}.md" \
        sdk/FOOTPRINT.md
    done
    bash tests/policy/page_numbers.sh . --update
    ;;
  --check | --check-all)
    rows=$((6 + 2 * ${#cpus[@]}))
    [[ "${mode}" == --check ]] || rows=$((rows + 6))
    awk -F ' *[|] *' -v expected="${rows}" '
      !/^[|] (M|RV32)/ { next }
      FILENAME ~ /FOOTPRINT/ { published[$2, $3] = $0; next }
      {
        rows++
        if (!(($2, $3) in published)) { print "not published: " $0; bad = 1; next }
        split(published[$2, $3], limit, / *[|] */)
        for (i = 4; i < NF; i++) {
          # What was used of the stack depends on when interrupts came: it has the bound instead. What was
          # used of the TLS pool depends on random numbers: the lengths of big numbers follow from them.
          most = limit[i] * 1.05
          if (FILENAME ~ /memory/ && i == 7 && $6 != "-") most = $6
          if (FILENAME ~ /memory/ && i == 8) most = limit[i] * 1.1
          if (limit[i] == "-" ? $i != "-" : $i !~ /^[1-9][0-9]*$/) {
            print "a figure is missing: " $0
            bad = 1
          }
          if ($i + 0 > most + 0) { print $i " is above " most ": " $0; bad = 1 }
        }
      }
      END { exit bad || rows != expected }' sdk/FOOTPRINT.md "${work}/memory.md" "${work}/instructions.md"
    awk -F ' *[|] *' '
      function target(name) {
        if (name ~ /^(conv|dense|lstm) /) return 8
        if (name ~ /^sample of .lenet/) return 10e6
        return name ~ /^workspace of .lenet/ ? 90 * 1024 : 1e9
      }
      $3 !~ /^[1-9][0-9.]*$/ { next }
      FILENAME ~ /FOOTPRINT/ { published[$2] = $0; next }
      {
        rows++
        split(published[$2], limit, / *[|] */)
        for (i = 3; i < NF; i++) {
          if ($i > target($2) || $i > limit[i] * 1.05) { print $i " is too much: " $0; bad = 1 }
        }
      }
      END { exit bad || rows != 15 }' sdk/FOOTPRINT.md "${work}/nets.md"
    awk -F ' *[|] *' '
      $3 !~ /^[1-9][0-9]*$/ { next }
      FILENAME ~ /FOOTPRINT/ { published[$2] = $0; next }
      {
        rows++
        split(published[$2], limit, / *[|] */)
        for (i = 3; i < NF; i++) {
          if ($i > limit[i] * 1.05) { print $i " is too much: " $0; bad = 1 }
        }
      }
      END { exit bad || rows != 12 }' sdk/FOOTPRINT.md "${work}/predictions.md"
    awk -F ' *[|] *' '
      $3 !~ /^[1-9][0-9]*$/ { next }
      FILENAME ~ /FOOTPRINT/ { published[$2, $3, $4] = $5 + $6 > 0 ? $5 " " $6 : ""; next }
      {
        rows++
        split(published[$2, $3, $4], limit, " ")
        if ($5 > limit[1] * 1.05 || $6 > limit[2] * 1.05) { print "a frame link takes too much: " $0; bad = 1 }
      }
      END { exit bad || rows != 6 }' sdk/FOOTPRINT.md "${work}/links.md"
    awk -F ' *[|] *' '
      $3 !~ /^[1-9][0-9]*$/ { next }
      FILENAME ~ /FOOTPRINT/ { published[$2] = $0; next }
      {
        rows++
        split(published[$2], limit, / *[|] */)
        for (i = 3; i < NF; i++) {
          if ($i > limit[i] * 1.05) { print $i " is too much: " $0; bad = 1 }
        }
      }
      END { exit bad || rows != 3 }' sdk/FOOTPRINT.md "${work}/handshakes.md"
    check_page sdk/LRQ.md 'instructions per coordinate' 10 "${work}"/cortex-m4-{O2,Os}.txt
    check_page sdk/TRAINING.md 'instructions per sample' 1 "${work}"/cortex-m{3,4}-{O2,Os}.txt
    ;;
esac
