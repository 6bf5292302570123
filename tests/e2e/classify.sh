#!/usr/bin/env bash
# classify.sh SOURCE_DIR WORK_DIR BIN_DIR
# The firmware of examples/classify on emulated boards: an exported header goes into it, and for every
# sample it prints the class that `sotto model predict` finds. Models with random parameters, in float32
# and in fixed point. No function of a training is linked. Then the session of examples/classify/README.md
# as it stands there; only the folders of sources and programs are changed.
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

# check CPU MACHINE MODEL PARAMETERS INPUTS TOKENS
check() {
  make_up "${@:3}"
  "${bin}/sotto" model export model.bin --model "$3" --format header --out model.h
  "${bin}/sotto" model predict model.bin --model "$3" --data samples.csv:header=no --out classes.csv
  cmake -S "${source_dir}/examples/classify" -B "$1" -G Ninja -DSOTTO_WARNINGS_AS_ERRORS=ON \
    --toolchain "${source_dir}/toolchains/arm-none-eabi.cmake" "-DSOTTO_CPU=$1" \
    -DSOTTO_TRAINED_MODEL=model.h -DSOTTO_SAMPLES=samples.bin > cmake.log || fail "$(cat cmake.log)"
  cmake --build "$1" --target classify --parallel 2 > build.log || fail "$(tail -n 30 build.log)"
  timeout 300 qemu-system-arm -M "$2" -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$1/classify" > found.txt 2>&1 ||
    fail "the board ended with status $?: $(cat found.txt)"
  sed 1d classes.csv | cut -d , -f 1 > expected.txt
  diff expected.txt found.txt || fail "$3: the board's classes (>) are not the server's (<)"
  (($(sort -u found.txt | wc -l) > 1)) || fail "$3: one class for all samples shows nothing"
  ! arm-none-eabi-nm -C "$1/classify" | grep -E 'AddGradient|InputDelta|TrainBatch|Backward|malloc|_sbrk' ||
    fail "$3: more is linked than a prediction needs"
  echo "$3 on $1: 25 samples, $(sort -u found.txt | wc -l) classes, as the server"
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
readme
