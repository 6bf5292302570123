#!/usr/bin/env bash
# self_test.sh SOURCE_DIR WORK_DIR CXX ARCHIVE LIBRARY...
# Builds with hostile flags: the SDK's sources keep their bits where they can, and sotto::SelfTest() fails, or
# nothing compiles, where they cannot. Every source that computes in floating point takes part in that.
#   ARCHIVE     libsotto_sdk.a, for what is not compiled here
#   LIBRARY...  what it needs
set -euo pipefail
source_dir="$1" work="$2" cxx="$3"
shift 3
libraries=("$@")
mkdir -p "${work}"
status=0

complain() {
  echo "$1"
  status=1
}

# ---- The guards are there.
guard='#include "base/exact_arithmetic.h"'
while IFS= read -r file; do
  case "${file#"${source_dir}"/}" in
    sdk/src/base/exact_arithmetic.h) ;;
    sdk/src/client/client*.cc | sdk/src/client/kept_model.cc | sdk/src/client/model_download.cc | sdk/src/c/*)
      ;;  # only hand numbers on
    *) grep -qF "${guard}" "${file}" || complain "${file}: computes in floating point without ${guard}" ;;
  esac
done < <(grep -rlE '\b(float|Real|double)\b' --include='*.h' --include='*.cc' "${source_dir}/sdk/src")

# ---- The flags. What the self-test looks at is compiled with them, and so is the program.
cat > "${work}/main.cc" << 'END'
#include "sotto/self_test.h"
int main() { return sotto::SelfTest() == sotto::Status::kOk ? 0 : 1; }
END
eigen=/usr/include/eigen3
sources=("${source_dir}"/sdk/src/{nn/kernels,num/num,local/self_test}.cc)
base=(-std=c++17 -O3 -w -fno-exceptions -fno-rtti -DEIGEN_DONT_VECTORIZE -DEIGEN_NO_MALLOC
  -I "${source_dir}/sdk/include" -I "${source_dir}/sdk/src" -isystem "${eigen}")

# build NAME COMPILER LIBRARY_FLAGS PROGRAM_FLAGS [LINK_FLAGS]: false if something does not compile.
build() {
  local objects=() source
  # shellcheck disable=SC2086  # flags are words
  for source in "${sources[@]}"; do
    objects+=("${work}/$1.$(basename "${source}").o")
    "$2" "${base[@]}" $3 -c -o "${objects[-1]}" "${source}" 2> "${work}/$1.log" || return 1
  done
  # shellcheck disable=SC2086
  "$2" "${base[@]}" $4 -c -o "${work}/$1.main.o" "${work}/main.cc" 2> "${work}/$1.log" || return 1
  # shellcheck disable=SC2086
  "$2" ${5:-} "${work}/$1.main.o" "${objects[@]}" "${libraries[@]}" -o "${work}/$1" \
    2> "${work}/$1.log" || return 1
}

# keeps NAME COMPILER LIBRARY_FLAGS [PROGRAM_FLAGS]: the test passes.
keeps() {
  if ! build "$1" "$2" "$3" "${4:-}"; then
    complain "$1: does not compile: $(head -n 3 "${work}/$1.log")"
  elif ! "${work}/$1"; then
    complain "$1: SelfTest() fails with $3 ${4:-}: the guards do not work"
  fi
}

# fails NAME COMPILER LIBRARY_FLAGS [PROGRAM_FLAGS [LINK_FLAGS]]: the test sees it.
fails() {
  if ! build "$1" "$2" "$3" "${4:-}" "${5:-}"; then
    complain "$1: does not compile: $(head -n 3 "${work}/$1.log")"
  elif "${work}/$1"; then
    complain "$1: SelfTest() passes with $3 ${4:-} ${5:-}"
  fi
}

# refuses NAME COMPILER LIBRARY_FLAGS [PROGRAM_FLAGS]: an error says why.
refuses() {
  if build "$1" "$2" "$3" "${4:-}"; then
    complain "$1: compiles with $3 ${4:-}"
  elif ! grep -q 'compile without -ffast-math' "${work}/$1.log"; then
    complain "$1: the error does not say why: $(head -n 3 "${work}/$1.log")"
  fi
}

fma=()
if [[ "$(uname -m)" == x86_64 ]]; then
  fma=(-mfma)
  grep -qw fma /proc/cpuinfo || {
    echo "skipped: this processor has no fused multiply-add"
    exit 77
  }
fi

keeps plain "${cxx}" ''
if "${cxx}" --version | grep -qi clang; then
  # It overrules what the sources say.
  fails overruled "${cxx}" "${fma[*]} -ffp-contract=fast"
else
  keeps contracted_everywhere "${cxx}" "${fma[*]} -ffp-contract=fast" "${fma[*]} -ffp-contract=fast"
fi
fails reordered "${cxx}" '-funsafe-math-optimizations'
refuses fast_library "${cxx}" '-ffast-math'
refuses fast_program "${cxx}" '' '-ffast-math'
# The unit that calls: the library is right, and its own numbers are not.
if [[ "$(uname -m)" == x86_64 ]] && ! "${cxx}" --version | grep -qi clang; then
  fails wide_program "${cxx}" '' '-mfpmath=387'
  # All is compiled well, and the program's start switches small numbers off.
  fails flushed "${cxx}" '' '' '-Ofast'
fi
clang="$(command -v clang++ || command -v clang++-14 || true)"
if [[ -n "${clang}" ]] && ! "${cxx}" --version | grep -qi clang; then
  keeps clang "${clang}" "${fma[*]} -ffp-contract=on"
  fails clang_overruled "${clang}" "${fma[*]} -ffp-contract=fast"
  fails clang_program "${clang}" '' "${fma[*]} -ffp-contract=fast"
fi
exit "${status}"
