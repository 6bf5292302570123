# To be sourced by the scripts beside it, in the source folder from then on: counts the instructions of a
# program on a board. Under QEMU's -icount the counts are the same in every run.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# require CPU: ends the script if there is no compiler, emulator or source for it.
require() {
  local missing
  missing="$(missing_for "$1")"
  [[ -n "${missing}" ]] || return 0
  echo "${0##*/}: no ${missing//$'\n'/, no }" >&2
  exit 1
}

# measure CPU BOARD LEVEL PROGRAM: prints the lines "what: instructions" of the program.
measure() {
  local cpu="$1" board="$2" level="$3" program="$4"
  local folder="build/instructions/${cpu}-${level}"
  mkdir -p "${folder}"
  build_for "${cpu}" "${level}" "${folder}" "${program}" > "${folder}.log" 2>&1 || {
    cat "${folder}.log" >&2
    return 1
  }
  qemu-system-arm -M "${board}" -display none -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "${folder}/bin/${program}" 2>&1
}

# publish MARKER PAGE [--update]: prints the table of standard input and, with --update, makes it the one
# that follows <!-- MARKER ... --> in the page, up to an empty line.
publish() {
  local marker="$1" page="$2" table
  table="$(mktemp)"
  tee "${table}"
  if [[ "${3-}" == --update ]]; then
    sed -i -e "/^<!-- ${marker}/,/^\$/ { /^|/d; }" -e "/^<!-- ${marker}/r ${table}" "${page}"
  fi
  rm "${table}"
}
