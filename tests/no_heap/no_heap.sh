#!/usr/bin/env bash
# no_heap.sh SOURCE_DIR WORK_DIR
# Training, encoding and decoding ask for no memory while they run: `golden` on an emulated Cortex-M4,
# built so that malloc, operator new, _sbrk and Eigen's check before each allocation end it. Programs
# that do ask are ended, each with its own status. (That no allocator is linked at all shows
# board.images; but where it is, the compiler may remove what Eigen would allocate.)
# Skipped, 77, where a compiler, an emulator or a source is missing.
set -euo pipefail
cd "$1"
work="$2"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source tests/device/build.sh
missing="$(missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi

# expect STATUS PROGRAM
expect() {
  local status=0
  timeout 120 qemu-system-arm -M mps2-an386 -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "${work}/bin/$2" || status=$?
  ((status == $1)) || {
    echo "FAILED: $2 ended with ${status}, not $1"
    exit 1
  }
}

build_for cortex-m4 Os "${work}" no_heap_programs -DSOTTO_WARNINGS_AS_ERRORS=ON -DSOTTO_EIGEN_TRAP=ON
expect 0 no_heap
expect 91 no_heap_malloc
expect 92 no_heap_new
expect 93 no_heap_sbrk
expect 94 no_heap_eigen
