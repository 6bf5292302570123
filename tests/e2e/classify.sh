#!/usr/bin/env bash
# classify.sh SOURCE_DIR WORK_DIR BIN_DIR
# The firmware of examples/classify on emulated boards: an exported header goes into it, and for every
# sample it prints the class that `sotto model predict` finds, a regression's numbers, or an autoencoder's
# prediction error and its decision by the threshold of `sotto model threshold`, to the last bit. Models
# with random parameters, in float32 and in fixed point. No function of a training is linked. Then the
# session of examples/classify/README.md as it stands there; only the folders of sources and programs are
# changed.
# Skipped, 77, where a compiler, an emulator or a source is missing.
set -euo pipefail
source_dir="$1" bin="$3"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"

missing="$(cd "${source_dir}" && missing_for cortex-m4)"
[[ -x /usr/bin/python3 ]] || missing+=" /usr/bin/python3"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi

fail() {
  echo "FAILED: $*"
  exit 1
}

# make_up MODEL PARAMETERS INPUTS TOKENS: model.bin, and the same samples as samples.csv and samples.bin.
# The numbers are multiples of 2^-10, so text and float32 agree.
make_up() {
  /usr/bin/python3 - "$@" << 'END'
import array
import random
import sys

parameters, inputs, tokens = map(int, sys.argv[2:])
random.seed(sys.argv[1])


def exact(scale):
    return round(random.gauss(0, scale) * 1024) / 1024


array.array("f", [exact(0.2) for _ in range(parameters)]).tofile(open("model.bin", "wb"))
samples = [[random.randrange(tokens) if tokens else exact(1) for _ in range(inputs)] for _ in range(25)]
array.array("f", sum(samples, [])).tofile(open("samples.bin", "wb"))
with open("samples.csv", "w") as file:
    for sample in samples:
        print(*sample, sep=",", file=file)
END
}

# run_board CPU MACHINE NAME: the firmware with model.h and samples.bin; found.txt is what it prints.
run_board() {
  cmake -S "${source_dir}/examples/classify" -B "$1" -G Ninja -DSOTTO_WARNINGS_AS_ERRORS=ON \
    --toolchain "${source_dir}/toolchains/arm-none-eabi.cmake" "-DSOTTO_CPU=$1" \
    -DSOTTO_TRAINED_MODEL=model.h -DSOTTO_SAMPLES=samples.bin > cmake.log || fail "$(cat cmake.log)"
  cmake --build "$1" --target classify --parallel 2 > build.log || fail "$(tail -n 30 build.log)"
  timeout 300 qemu-system-arm -M "$2" -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$1/classify" > found.txt 2>&1 ||
    fail "the board ended with status $?: $(cat found.txt)"
  ! arm-none-eabi-nm -C "$1/classify" |
    grep -E 'AddGradient|InputDelta|TrainBatch|Backward|malloc|_sbrk' ||
    fail "$3: more is linked than a prediction needs"
}

# check CPU MACHINE MODEL PARAMETERS INPUTS TOKENS
check() {
  make_up "${@:3}"
  "${bin}/sotto" model export model.bin --model "$3" --format header --out model.h
  "${bin}/sotto" model predict model.bin --model "$3" --data samples.csv:header=no --out classes.csv
  run_board "$1" "$2" "$3"
  ! arm-none-eabi-nm -C "$1/classify" | grep -E 'PredictionError|SquaredErrors' ||
    fail "$3: a firmware of classes needs no prediction error"
  sed 1d classes.csv | cut -d , -f 1 > expected.txt
  diff expected.txt found.txt || fail "$3: the board's classes (>) are not the server's (<)"
  (($(sort -u found.txt | wc -l) > 1)) || fail "$3: one class for all samples shows nothing"
  echo "$3 on $1: 25 samples, $(sort -u found.txt | wc -l) classes, as the server"
}

# describe NAME OUTPUTS TARGET ACTIVATION ARITHMETIC: net.toml, which fills and normalises what it measures.
describe() {
  cat > net.toml << END
name = "$1"
input = [12]
missing = 0.25
loss = "mean-squared-error"
target = "$3"
arithmetic = "$5"

[[prepare]]
kind = "normalise"
mean = 0.125
deviation = 0.75

[[layer]]
kind = "dense"
outputs = 5

[[layer]]
kind = "$4"

[[layer]]
kind = "dense"
outputs = $2
END
}

# measure PARAMETERS: model.bin, samples.bin and samples.csv, whose column `anomaly` says which samples are
# five times as large. A number of each is missing.
measure() {
  /usr/bin/python3 - "$1" << 'END'
import array
import random
import sys

random.seed(7)


def exact(scale):
    return round(random.gauss(0, scale) * 1024) / 1024


array.array("f", [exact(0.3) for _ in range(int(sys.argv[1]))]).tofile(open("model.bin", "wb"))
with open("samples.bin", "wb") as numbers, open("samples.csv", "w") as table:
    print(*(f"f{i}" for i in range(12)), "anomaly", sep=",", file=table)
    for index in range(25):
        is_anomaly = index % 5 == 0
        sample = [exact(5 if is_anomaly else 1) for _ in range(12)]
        sample[index % 12] = float("nan")
        array.array("f", sample).tofile(numbers)
        print(*("" if x != x else x for x in sample), int(is_anomaly), sep=",", file=table)
END
}

# as_decimals: the board's fractions as the server writes them.
as_decimals() {
  /usr/bin/python3 -c '
import sys
for line in sys.stdin:
    print(*(f"{float.fromhex(x):.9g}" if "x" in x else x for x in line.strip().split(",")), sep=",")'
}

# check_errors CPU MACHINE ACTIVATION ARITHMETIC: an autoencoder.
check_errors() {
  local threshold alarms
  describe detector 12 input "$3" "$4"
  measure 137
  "${bin}/sotto" model threshold model.bin --model net.toml --data samples.csv --labels anomaly \
    --json found.json > threshold.txt
  threshold="$(/usr/bin/python3 -c 'import json; print(json.load(open("found.json"))["threshold"])')"
  alarms="$(/usr/bin/python3 -c 'import json; print(json.load(open("found.json"))["alarms"])')"
  "${bin}/sotto" model export model.bin --model net.toml --threshold "${threshold}" --out model.safetensors
  "${bin}/sotto" model export model.safetensors --model net.toml --format header --out model.h
  "${bin}/sotto" model predict model.safetensors --model net.toml \
    --data samples.csv:drop=anomaly --out errors.csv
  run_board "$1" "$2" "an autoencoder"
  sed 1d errors.csv | cut -d , -f 1,2 > expected.txt
  as_decimals < found.txt | diff expected.txt - ||
    fail "$4: the board's errors and decisions (>) are not the server's (<)"
  [[ "$(grep -c ',1$' found.txt)" == "${alarms}" ]] || fail "$4: $(cat threshold.txt)"
  echo "an autoencoder on $1, $4: 25 errors and ${alarms} alarms, as the server"
}

# check_numbers CPU MACHINE ACTIVATION ARITHMETIC: a regression.
check_numbers() {
  describe gauge 2 vector "$3" "$4"
  measure 77
  "${bin}/sotto" model export model.bin --model net.toml --format header --out model.h
  "${bin}/sotto" model predict model.bin --model net.toml \
    --data samples.csv:drop=anomaly --out numbers.csv
  run_board "$1" "$2" "a regression"
  sed 1d numbers.csv > expected.txt
  as_decimals < found.txt | diff expected.txt - ||
    fail "$4: the board's numbers (>) are not the server's (<)"
  echo "a regression on $1, $4: 25 times two numbers, as the server"
}

readme() {
  local board server
  awk '/^```bash$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
    "${source_dir}/examples/classify/README.md" > block.sh
  sed -i -e "s#build/host/bin/#${bin}/#" -e "s# examples/# ${source_dir}/examples/#" \
    -e "s#\"\$PWD\"/toolchains/#${source_dir}/toolchains/#" -e 's#^python3#/usr/bin/python3#' block.sh
  bash -e block.sh > session.txt 2>&1 || fail "$(tail -n 30 session.txt)"
  board="$(grep -xE '[0-9]' session.txt)"
  server="$(tail -n 2 session.txt | cut -d , -f 1)"
  [[ "${board}" == "${server}" ]] || fail "README.md: the board says ${board}, the server ${server}"
  echo "README.md: ${board//$'\n'/ } on the board and on the server"
}

check cortex-m4 mps2-an386 small-cnn 9098 784 0
check cortex-m4 mps2-an386 char-lstm-small 8738 40 82
check cortex-m3 mps2-an385 small-cnn-q 9098 784 0
check cortex-m3 mps2-an385 softmax-64-10-q 650 64 0
check_errors cortex-m4 mps2-an386 tanh float32
check_numbers cortex-m4 mps2-an386 tanh float32
check_errors cortex-m3 mps2-an385 relu fixed-point
readme
