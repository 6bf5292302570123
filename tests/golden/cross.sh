#!/usr/bin/env bash
# cross.sh SOURCE_DIR PRESET LEVEL [CMAKE_OPTION...]
# Builds `golden` for a preset at -O2 or -Os (LEVEL: O2, Os) and runs it, under the toolchain's emulator
# where there is one. Exits with 77, skipped, where a compiler, an emulator or a source is missing.
set -euo pipefail
source_dir="$1" preset="$2" level="$3"
shift 3

need() {
  local name
  for name in "$@"; do
    if ! command -v "${name}" > /dev/null; then
      echo "skipped: no ${name}"
      exit 77
    fi
  done
}

need_sources() {
  local name
  for name in mbedtls-2.28 nanopb-0.4.7; do
    if [[ ! -d "${source_dir}/build/cache/${name}" ]]; then
      echo "skipped: no build/cache/${name} (toolchains/fetch-source.sh)"
      exit 77
    fi
  done
}

options=(-DSOTTO_SERVER=OFF -DSOTTO_DEVICE_TESTS=ON "$@")
case "${preset}" in
  host) ;;
  aarch64) need aarch64-linux-gnu-g++ qemu-aarch64 ;;
  armhf) need arm-linux-gnueabihf-g++ qemu-arm ;;
  cortex-*) need arm-none-eabi-g++ qemu-system-arm ;;
esac
[[ "${preset}" == host ]] || need_sources
case "${level}" in
  O2) options+=(-DCMAKE_BUILD_TYPE=RelWithDebInfo '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG'
    '-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG') ;;
  Os) options+=(-DCMAKE_BUILD_TYPE=MinSizeRel) ;;
esac

cd "${source_dir}"
build="build/golden/${preset}-${level}"
mkdir -p build/golden
cmake --preset "${preset}" -B "${build}" "${options[@]}" > "${build}.log" || {
  cat "${build}.log"
  exit 1
}
cmake --build "${build}" --target golden --parallel 1
ctest --test-dir "${build}" --tests-regex '^golden$' --no-tests=error --verbose
