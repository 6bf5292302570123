#!/usr/bin/env bash
# fetch_content.sh SOURCE_DIR WORK_DIR SOTTO
# The CMake project of sdk/DEVICE.md takes the archive by FetchContent into a firmware for a Cortex-M33, which has its own
# startup and its own linker script, and whose CPU is known to its toolchain file. QEMU runs it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
require arm-none-eabi-g++ qemu-system-arm
awk '/^```cmake$/ { inside = 1; block = ""; next }
  /^```/ && inside { inside = 0; if (index(block, "FetchContent") > 0) { printf "%s", block; exit } }
  inside { block = block $0 "\n" }' "${source_dir}/sdk/DEVICE.md" > CMakeLists.txt
cp "${packages}"/sotto-sdk-*.tar.gz .
cp "${source_dir}"/examples/local_round/local_round.h .
cp "${source_dir}"/tests/packages/local_round_board.cc my_device.cc

emulated="${source_dir}/ports/emulated" port="${source_dir}/ports/mps2"
flags="-mcpu=cortex-m33 -mthumb -O0 -ffunction-sections -fdata-sections"
cat > toolchain.cmake << END
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags} -fno-exceptions -fno-rtti -I${emulated}/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--specs=nano.specs -nostartfiles -Wl,--gc-sections -L ${port}/linker -T an505.ld ${PWD}/board.o")
END
read -ra flags <<< "${flags}"
arm-none-eabi-g++ "${flags[@]}" -fno-exceptions -fno-rtti -fno-threadsafe-statics -DSOTTO_BOARD_AN505 -I"${emulated}/include" \
  -I"${emulated}/src" -I"${port}/src" -r -nostdlib -o board.o "${port}/src/startup.cc" "${emulated}"/src/{semihosting,stack}.cc
# The link over TLS compiles against an Mbed TLS of the firmware.
cat > mbedtls.cmake << END
add_library(firmware_mbedtls INTERFACE)
target_include_directories(firmware_mbedtls SYSTEM INTERFACE "${source_dir}/build/cache/mbedtls-2.28/include")
target_compile_definitions(firmware_mbedtls INTERFACE MBEDTLS_CONFIG_FILE="${source_dir}/examples/cortex_m/mbedtls_config.h")
END
cmake -S . -B build -G Ninja --toolchain toolchain.cmake -DCMAKE_PROJECT_my_device_INCLUDE="${PWD}/mbedtls.cmake" \
  -DSOTTO_MBEDTLS_TARGET=firmware_mbedtls
cmake --build build --parallel 1
[[ -f build/_deps/sotto_sdk-build/libsotto_tls.a ]]
emulate qemu-system-arm mps2-an505 build/my_device > output.txt
same_update output.txt
