#!/usr/bin/env bash
# esp_idf.sh SOURCE_DIR WORK_DIR SOTTO
# The archive as a component of ESP-IDF, by a stub of idf_component_register(): every file compiles for 32-bit RISC-V, as
# the ESP32-C3 has it, and QEMU runs it. ESP-IDF itself is not here: unchecked.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
require riscv64-unknown-elf-g++ qemu-system-riscv32
unpack_sdk
cmake -S "${source_dir}/tests/packages/esp_idf" -B build -G Ninja -DCMAKE_BUILD_TYPE=None -DSOTTO_CPU=rv32imac \
  --toolchain "${source_dir}/toolchains/riscv32-unknown-elf.cmake" "-DSDK=${work}/sdk" "-DSOTTO=${source_dir}"
cmake --build build --parallel 1
emulate qemu-system-riscv32 virt build/local_round -bios none > output.txt
same_update output.txt
