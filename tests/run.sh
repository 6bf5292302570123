#!/usr/bin/env bash
# Builds Sotto and runs its tests. CI runs it with --all.
set -euo pipefail

usage() {
  cat << 'END'
Usage: tests/run.sh [--all]

Runs the quickstart, which builds the preset host (with GCC), then builds and runs the tests of this machine.
Installs the packages that are missing (Debian, Ubuntu). Ends with a table of where the time went and CTest's
summary. The exit status is not zero if a build or a test fails.

  --all    also the presets cortex-m4 and host-asan (with Clang), and the tests of other CPUs, of boards and
           of the fuzz targets; fetches the sources that other CPUs need into build/cache
  --help   this text

Environment: CI               if set, compiler warnings are errors
             SOTTO_TEST_DATA  a folder with data for tests that are skipped without it: the t10k IDX
                              files of MNIST, tinyshakespeare.txt
END
}

all=false
case "${1-}" in
  '') ;;
  --all) all=true ;;
  --quick)
    echo 'tests/run.sh: --quick is the default now: tests/run.sh; every preset: tests/run.sh --all' >&2
    exit 2
    ;;
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
RISCV_PACKAGES=(gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc)

# PostgreSQL without the cluster that the package would make and start: the tests make their own.
install_postgresql() {
  local settings=/etc/postgresql-common/createcluster.d as_root=(sudo)
  ((EUID != 0)) || as_root=()
  [[ -n "$(missing_packages postgresql)" ]] || return 0
  "${as_root[@]}" mkdir -p "${settings}" &&
    "${as_root[@]}" tee "${settings}/sotto-tests.conf" <<< 'create_main_cluster = false' > /dev/null || return
  install_packages postgresql || true
  "${as_root[@]}" rm -f "${settings}/sotto-tests.conf"
}

install_test_packages() {
  local packages=("${BUILD_PACKAGES[@]}" "${OPTIONAL_PACKAGES[@]}" libgtest-dev openssl
    pkg-config python3-cryptography python3-mpmath)
  ! ${all} || packages+=(clang lld gcc-arm-none-eabi libnewlib-arm-none-eabi
    libstdc++-arm-none-eabi-newlib)
  install_packages "${packages[@]}" || return
  # The sanitizers' runtime; where there is no such package, it is part of clang.
  ! ${all} || install_packages libclang-rt-dev || true
  # Without these some tests are skipped, by name.
  install_packages "${DATA_PACKAGE}" || true
  install_packages clang-format-14 || install_packages clang-format || true
  install_packages dpkg-dev ca-certificates curl || true
  install_packages systemd || true  # systemd-analyze checks the unit of sotto-client
  install_packages libbenchmark-dev || true
  install_packages espeak-ng || true  # the voices of examples/wake_word
  install_packages libopenmpi-dev openmpi-bin || true
  install_packages python3-numpy python3-onnx || true
  install_packages python3-h5py python3-pil || true  # the scripts of server/YOUR_DATA.md
  install_packages python3-pip python3-setuptools python3-wheel || true  # toolchains/package/python
  install_packages python3-pandas python3-matplotlib || true             # its frames and plots
  ! ${all} || ! command -v apt-get > /dev/null || install_postgresql || true
  ! ${all} || install_packages "${CROSS_PACKAGES[@]}" || true
  ! ${all} || install_packages "${RISCV_PACKAGES[@]}" || true
  # Debian 12 has these headers for Arm alone, which serve.
  ! ${all} || install_packages libstdc++-riscv64-unknown-elf-dev || true
  ! ${all} || install_packages arduino-builder || true
  ! ${all} || install_packages emscripten node-acorn || true  # examples/tab
  ! ${all} || install_packages dpkg-dev debhelper lintian man-db mmdebstrap || true  # Debian's packages
  ! ${all} || install_packages buildah python3-yaml || true  # the image of the server
  ! ${all} || install_packages ccache || true
  # Its service listens nowhere until somebody configures it.
  ! ${all} || install_packages haproxy socat || true
  ! ${all} || install_packages chromium chromium-driver python3-selenium || true  # draws the pages
}

# fetch_sources SUITE PACKAGE=VERSION...: into build/cache. Returns non-zero if there are none.
fetch_sources() {
  toolchains/fetch-source.sh build/cache "$@" && return
  echo "tests/run.sh: no sources of $*; the tests that need them will be skipped" >&2
  return 1
}

# Takes promtool, which checks the metrics, out of its package; in Debian 12 that is prometheus, which, installed, would
# start a daemon.
fetch_promtool() {
  local work download=(apt-get -qq download -o "APT::Sandbox::User=$(id -un)")
  [[ ! -x build/cache/promtool ]] || return 0
  command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || return 1
  mkdir -p build/cache
  work="$(mktemp -d build/cache/promtool.XXXXXX)"
  (cd "${work}" && { "${download[@]}" promtool 2> /dev/null || "${download[@]}" prometheus; } &&
    dpkg-deb --fsys-tarfile ./*.deb | tar -x ./usr/bin/promtool &&
    mv usr/bin/promtool ../promtool) ||
    echo 'tests/run.sh: no promtool (package promtool); the test of the metrics will be skipped' >&2
  rm -rf "${work}"
}

# Labels of tests that are compiled for other CPUs, or fuzz with Clang for minutes.
OTHER_CPUS='^(arm-linux|board|fuzz|golden|packages|size)$'

jobs="$(nproc)"
if [[ -n "${CI-}" ]]; then export SOTTO_WARNINGS_AS_ERRORS=ON; fi
test_options=(-DSOTTO_TESTS=ON -DSOTTO_WITH_ALL=ON "-DSOTTO_MBEDTLS3_SOURCE_DIR=${PWD}/build/cache/mbedtls-3.6")

# What the processes that have ended so far took of the processors, in seconds.
processor_seconds() { awk '{ printf "%d", ($16 + $17) / 100 }' "/proc/$$/stat"; }

# timed WHAT COMMAND...: the time it takes, of the clock and of the processors, becomes a row of the table.
times=()
timed() {
  local started="${SECONDS}" status=0 before
  before="$(processor_seconds)"
  echo "== $1"
  "${@:2}" || status=$?
  times+=("$(printf '%8d s %8d s  %s' "$((SECONDS - started))" "$(($(processor_seconds) - before))" "$1")")
  ((status == 0)) || echo "tests/run.sh: failed: $1" >&2
  return "${status}"
}

# As a user calls it, where no optional library is. What it builds is what the tests start from.
quickstart() {
  [[ ! -e build/host ]] ||
    echo 'NOTICE: build/host is there: whether the quickstart works from nothing is not tested' >&2
  local TIMEFORMAT='quickstart: %0R s; CPU: %0U s user, %0S s system'
  time SOTTO_WITH_HTTP=OFF SOTTO_WITH_MAT=OFF SOTTO_WITH_ONNX=OFF examples/quickstart/run.sh
}

install_and_fetch() {
  install_test_packages || return
  fetch_promtool || true
  fetch_sources trixie mbedtls=3.6 || true
  ! ${all} || fetch_sources bookworm mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13 libcsv=3.0.3 kissfft=131.1.0 || true
}

# build PRESET CMAKE_OPTION...
build() {
  cmake --preset "$@" ${SOTTO_WARNINGS_AS_ERRORS+-DSOTTO_WARNINGS_AS_ERRORS=ON} &&
    cmake --build --preset "$1" --parallel "${jobs}"
}

build_cortex_m4() {
  local options=(-DSOTTO_DEVICE_TESTS=ON)
  # Without the sources the SDK still compiles, against the host's headers.
  [[ -d build/cache/mbedtls-2.28 && -d build/cache/nanopb-0.4.7 ]] ||
    options=(-DSOTTO_MBEDTLS_SOURCE_DIR= -DSOTTO_NANOPB_SOURCE_DIR=)
  build cortex-m4 "${options[@]}"
}

# Two CTests side by side: tests that wait for the clock hold no slot of those that compute, which are nice to
# them. One more of these runs than there are processors, as some wait for an emulator or for packages. Each CTest has its log,
# and a folder with its files. Live suites that run with sanitizers run there alone.
logs=()
run_tests() {
  local folder="build/$1" exclude='^live' lives='^live' live status=0 options=(--output-on-failure --no-tests=error)
  ! ${all} || [[ "$1" != host ]] || lives='^live$'
  ${all} || exclude+="|${OTHER_CPUS}"
  # AddressSanitizer keeps 16 MB of what was freed, not 256: a quarter less time in programs that allocate much.
  export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=16}"
  ctest --test-dir "${folder}" -N > /dev/null  # finds the cases of GoogleTest, once for both
  ctest --test-dir "${folder}/tests" "${options[@]}" -L "${lives}" --parallel 6 > "${folder}/live.log" 2>&1 &
  live=$!
  nice ctest --test-dir "${folder}" "${options[@]}" -LE "${exclude}" --parallel "$((jobs + 1))" 2>&1 |
    tee "${folder}/computing.log" || status=1
  wait "${live}" || status=1
  cat "${folder}/live.log"
  logs+=("${folder}"/{computing,live}.log)
  return "${status}"
}

# The seconds of all tests that have a label, of each preset; the ten longest tests.
print_times() {
  local log
  printf '\nWhere the time went, by the clock and by the processors:\n'
  printf '%s\n' "${times[@]}"
  printf '\nSeconds of all tests with a label, of which several run at a time:\n'
  for log in "${logs[@]}"; do
    awk -v preset="$(basename "$(dirname "${log}")")" \
      '/ sec\*proc / { printf "%8.0f s  %s: %s\n", $(NF - 3), preset, $1 }' "${log}"
  done | sort -rn
  printf '\nThe ten longest tests:\n'
  for log in "${logs[@]}"; do
    awk -v preset="$(basename "$(dirname "${log}")")" '
      $NF == "sec" && /^ *[0-9]+\/[0-9]+ Test +#/ {
        sub(/^.*#[0-9]+: /, ""); printf "%8.1f s  %s: %s\n", $(NF - 1), preset, $1
      }' "${log}"
  done | sort -rn | sed -n 1,10p  # reads to the end: `head` would end `sort` by SIGPIPE
}

# What CTest says at its end, of all its runs together.
print_summary() {
  awk -v seconds="${SECONDS}" '
    / tests passed, [0-9]+ tests failed out of / { failed += $4; tests += $NF }
    /^The following tests FAILED:/ { inside = 1; next }
    inside && !/^\t/ { inside = 0 }
    inside { split(FILENAME, path, "/"); name[++names] = $0 ", " path[2] }
    END {
      printf "\n%d%% tests passed, %d tests failed out of %d\n", 100 * (tests - failed) / (tests + !tests), failed, tests
      printf "\nTotal Test time (real) = %d sec\n", seconds
      if (names) print "\nThe following tests FAILED:"
      for (i = 1; i <= names; ++i) print name[i]
    }' "${logs[@]}"
}

trap 'jobs -p | xargs -r kill 2> /dev/null || true' EXIT
timed 'build: host, by the quickstart' quickstart
timed 'packages and sources' install_and_fetch
! ${all} || timed 'build: host-asan' build host-asan -DCMAKE_CXX_COMPILER=clang++ "${test_options[@]}"
timed 'build: host, the tests' build host "${test_options[@]}" \
  "-DSOTTO_WITH_MPI=$(command -v mpicc > /dev/null && echo ON || echo OFF)"

# Builds for other CPUs compile an object once, where several of them have it with the same flags.
if ${all} && command -v ccache > /dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_DIR="${PWD}/build/cache/ccache" CCACHE_NOHASHDIR=1
fi
! ${all} || timed 'build: cortex-m4' build_cortex_m4

# Both suites run even if the first one fails.
failed=false
! ${all} || timed 'run: host-asan' run_tests host-asan || failed=true
timed 'run: host' run_tests host || failed=true
${all} || echo 'Not run: tests of other CPUs, boards, fuzz targets and sanitizers. They are part of tests/run.sh --all.'
print_times
print_summary
! ${failed}
