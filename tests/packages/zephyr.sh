#!/usr/bin/env bash
# zephyr.sh SOURCE_DIR WORK_DIR SOTTO
# The archive as a module of Zephyr, by stubs of the functions that it calls: every file compiles for a Cortex-M0+, and QEMU
# runs it. Zephyr itself is not here: unchecked.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
require arm-none-eabi-g++ qemu-system-arm
unpack_sdk
cmake -S "${source_dir}/tests/packages/zephyr" -B build -G Ninja -DCMAKE_BUILD_TYPE=None -DSOTTO_CPU=cortex-m0plus \
  --toolchain "${source_dir}/toolchains/arm-none-eabi.cmake" "-DSDK=${work}/sdk" "-DSOTTO=${source_dir}"
cmake --build build --parallel 1
emulate qemu-system-arm mps2-an385 build/local_round > output.txt
same_update output.txt
