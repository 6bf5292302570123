#!/usr/bin/env bash
# arduino.sh SOURCE_DIR WORK_DIR SOTTO
# Debian's arduino-builder compiles the three sketches of the library for a Cortex-M4F, and QEMU runs LocalRound. The core
# of the board is tests/packages/arduino; no core of a vendor is here: unchecked.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
require arduino-builder arm-none-eabi-g++ qemu-system-arm
mkdir -p libraries hardware/sotto/mps2/variants/none
/usr/bin/python3 -m zipfile -e "${packages}"/sotto-arduino-*.zip libraries
cp -r "${source_dir}"/tests/packages/arduino/* hardware/sotto/mps2
core=hardware/sotto/mps2/cores/board
for file in "${source_dir}"/ports/emulated/src/semihosting.cc "${source_dir}"/ports/emulated/src/stack.cc \
  "${source_dir}"/ports/mps2/src/startup.cc; do
  cp "${file}" "${core}/$(basename "${file}" .cc).cpp"
done
cp "${source_dir}"/ports/emulated/src/semihosting_call.h "${source_dir}"/ports/mps2/src/{memory_map,vectors}.h "${core}"
cp -r "${source_dir}/ports/emulated/include/sotto" "${core}"
cp "${source_dir}"/ports/mps2/linker/*.ld hardware/sotto/mps2
# In one folder, one after the other: the builder then keeps what it has compiled of the library. The last one is run.
mkdir build
for example in SelfTest Predict LocalRound; do
  rm -rf sketch
  cp -r "libraries/Sotto/examples/${example}" sketch
  mv "sketch/${example}.ino" sketch/sketch.ino
  arduino-builder -compile -hardware /usr/share/arduino-builder -hardware hardware -tools hardware -libraries libraries \
    -fqbn sotto:mps2:an386 -build-path "${PWD}/build" -quiet sketch/sketch.ino
done
emulate qemu-system-arm mps2-an386 build/sketch.ino.elf > output.txt
same_update output.txt
