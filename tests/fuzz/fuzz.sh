#!/usr/bin/env bash
# fuzz.sh build SOURCE_DIR [CMAKE_OPTION...]
# fuzz.sh run SOURCE_DIR TARGET SECONDS
# Builds the preset host-fuzz in build/fuzz; fuzzes one target for a while, from the seeds and from what
# earlier runs found (build/fuzz/corpus/TARGET). An input that fails is kept in build/fuzz/failures:
# `build/fuzz/bin/fuzz_TARGET FILE` repeats it. Exits with 77, skipped, without Clang and libFuzzer.
set -euo pipefail
command="$1"
cd "$2"
shift 2
folder=build/fuzz

has_fuzzer() {
  local program status=0
  command -v clang++ > /dev/null || return
  program="$(mktemp)"
  clang++ -x c++ -fsanitize=fuzzer -o "${program}" - 2> /dev/null << 'END' || status=1
#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }
END
  rm -f "${program}"
  return "${status}"
}

if ! has_fuzzer; then
  echo "skipped: no Clang with libFuzzer (Debian: clang, libclang-rt-dev)"
  exit 77
fi

case "${command}" in
  build)
    cmake --preset host-fuzz -B "${folder}" "$@"
    cmake --build "${folder}" --target fuzz_programs --parallel "$(nproc)"
    rm -rf "${folder}/seeds"
    "${folder}/bin/make_seeds" "${folder}/seeds"
    ;;
  run)
    target="$1" seconds="$2"
    mkdir -p "${folder}/corpus/${target}" "${folder}/failures"
    # The first folder receives what is found. One input must not take 10 s or 2 GB. By itself
    # libFuzzer would exit with 77.
    "${folder}/bin/fuzz_${target}" -max_total_time="${seconds}" -max_len=4096 -timeout=10 \
      -rss_limit_mb=2048 -error_exitcode=1 -timeout_exitcode=1 -print_final_stats=1 \
      -artifact_prefix="${folder}/failures/${target}-" \
      "${folder}/corpus/${target}" "${folder}/seeds/${target}"
    ;;
  *)
    echo "fuzz.sh: build or run, not ${command}" >&2
    exit 2
    ;;
esac
