# To be sourced: builds a test program for another CPU.
# shellcheck shell=bash

# missing_for PRESET: prints what is missing to build the preset and to run its programs.
missing_for() {
  local compiler emulator name
  case "$1" in
    host) return ;;
    aarch64) compiler=aarch64-linux-gnu-g++ emulator=qemu-aarch64 ;;
    armhf) compiler=arm-linux-gnueabihf-g++ emulator=qemu-arm ;;
    cortex-*) compiler=arm-none-eabi-g++ emulator=qemu-system-arm ;;
  esac
  for name in "${compiler}" "${emulator}"; do
    command -v "${name}" > /dev/null || echo "${name}"
  done
  for name in mbedtls-2.28 nanopb-0.4.7; do
    [[ -d "build/cache/${name}" ]] || echo "build/cache/${name} (toolchains/fetch-source.sh)"
  done
}

# build_for PRESET LEVEL FOLDER TARGET [CMAKE_OPTION...]: from the source folder, at -O2 or -Os (LEVEL:
# O2, Os).
build_for() {
  local preset="$1" level="$2" folder="$3" target="$4"
  local options=(-DSOTTO_SERVER=OFF -DSOTTO_CLIENT=OFF -DSOTTO_DEVICE_TESTS=ON "${@:5}")
  case "${level}" in
    O2) options+=(-DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG'
      '-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG') ;;
    Os) options+=(-DCMAKE_BUILD_TYPE=MinSizeRel) ;;
  esac
  cmake --preset "${preset}" -B "${folder}" "${options[@]}"
  cmake --build "${folder}" --target "${target}" --parallel 1
}
