#!/usr/bin/env bash
# Builds every preset and runs every test. What CI runs.
set -euo pipefail

usage() {
  cat << 'END'
Usage: tests/run.sh [--quick]

Installs the packages that are missing (Debian, Ubuntu), fetches the sources that other CPUs and
Mbed TLS 3.6 need into build/cache, builds the presets cortex-m4, host-asan (with Clang) and host
(with GCC), and runs the tests of the last two. The exit status is not zero if a build or a test fails.

  --quick  only the preset host
  --help   this text

Environment: CI               if set, compiler warnings are errors
             SOTTO_TEST_DATA  a folder with data for tests that are skipped without it: the t10k IDX
                              files of MNIST, tinyshakespeare.txt
END
}

quick=false
case "${1-}" in
  '') ;;
  --quick) quick=true ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source-path=SCRIPTDIR source=../examples/quickstart/packages.sh
source examples/quickstart/packages.sh

# Other CPUs: compilers, and emulators that run the programs.
CROSS_PACKAGES=(g++-aarch64-linux-gnu g++-arm-linux-gnueabihf qemu-user qemu-system-arm)

install_test_packages() {
  local packages=("${BUILD_PACKAGES[@]}" "${OPTIONAL_PACKAGES[@]}" libgtest-dev openssl
    python3-cryptography python3-mpmath)
  ${quick} || packages+=(clang gcc-arm-none-eabi libnewlib-arm-none-eabi
    libstdc++-arm-none-eabi-newlib)
  install_packages "${packages[@]}"
  # The sanitizers' runtime; where there is no such package, it is part of clang.
  ${quick} || install_packages libclang-rt-dev || true
  # Without these some tests are skipped, by name.
  install_packages "${DATA_PACKAGE}" || true
  install_packages clang-format-14 || install_packages clang-format || true
  install_packages dpkg-dev ca-certificates curl || true
  install_packages systemd || true  # systemd-analyze checks the unit of sotto-client
  install_packages libbenchmark-dev || true
  install_packages python3-numpy python3-onnx || true
  ${quick} || install_packages "${CROSS_PACKAGES[@]}" || true
  ${quick} || install_packages chromium chromium-driver python3-selenium || true  # draws the pages
}

# fetch_sources SUITE PACKAGE=VERSION...: into build/cache. Returns non-zero if there are none.
fetch_sources() {
  toolchains/fetch-source.sh build/cache "$@" && return
  echo "tests/run.sh: no sources of $*; the tests that need them will be skipped" >&2
  return 1
}

# Takes promtool out of its package: an installed one would start a daemon. It checks the metrics.
fetch_promtool() {
  local work
  [[ ! -x build/cache/promtool ]] || return 0
  command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || return 1
  mkdir -p build/cache
  work="$(mktemp -d build/cache/promtool.XXXXXX)"
  (cd "${work}" && apt-get -qq download -o APT::Sandbox::User="$(id -un)" prometheus &&
    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool &&
    mv usr/bin/promtool ../promtool) ||
    echo 'tests/run.sh: no promtool (package prometheus); the test of the metrics will be skipped' >&2
  rm -rf "${work}"
}

jobs="$(nproc)"
options=()
test_options=(-DSOTTO_TESTS=ON -DSOTTO_WITH_ALL=ON)
[[ -z "${CI-}" ]] || options+=(-DSOTTO_WARNINGS_AS_ERRORS=ON)

# build PRESET CMAKE_OPTION...
build() {
  echo "== build ${1}"
  cmake --preset "$@" "${options[@]}"
  cmake --build --preset "$1" --parallel "${jobs}"
}

run_tests() {
  echo "== test ${1}"
  ctest --preset "$1" --parallel "${jobs}"
}

install_test_packages
fetch_promtool || true
fetch_sources npm uplot=1.6.32 || true
fetch_sources trixie mbedtls=3.6 || true
test_options+=("-DSOTTO_MBEDTLS3_SOURCE_DIR=${PWD}/build/cache/mbedtls-3.6")
if ! ${quick}; then
  # Without the sources the SDK still compiles, against the host's headers.
  bare_metal_options=(-DSOTTO_DEVICE_TESTS=ON)
  fetch_sources bookworm mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13 ||
    bare_metal_options=(-DSOTTO_MBEDTLS_SOURCE_DIR= -DSOTTO_NANOPB_SOURCE_DIR=)
  build cortex-m4 "${bare_metal_options[@]}"
  build host-asan -DCMAKE_CXX_COMPILER=clang++ "${test_options[@]}"
fi
build host "${test_options[@]}"

# Both suites run even if the first one fails; the last lines are CTest's summary.
failed=()
${quick} || run_tests host-asan || failed+=(host-asan)
run_tests host || failed+=(host)
for preset in "${failed[@]}"; do
  echo "tests/run.sh: tests of ${preset} failed:" >&2
  cat "build/${preset}/Testing/Temporary/LastTestsFailed.log" >&2
done
[[ ${#failed[@]} -eq 0 ]]
