# To be sourced by the tests of the packages, with SOURCE_DIR, WORK_DIR and SOTTO as arguments: `source_dir`, `packages`
# (the folder of make.sh), `work` (a new folder of this test), `sotto` (the program).
# shellcheck shell=bash disable=SC2034  # those who source it use them
source_dir="$1"
packages="$2/out"
sotto="$3"
name="$(basename "$0" .sh)"
work="$2/${name}"
[[ "${name}" == make || -d "${packages}" ]] || {
  echo "skipped: no packages: packages.make was skipped"
  exit 77
}
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}" || exit

# require PROGRAM...: skips the test, 77, where one of them is missing.
require() {
  local program
  for program in "$@"; do
    command -v "${program}" > /dev/null || {
      echo "skipped: no ${program}"
      exit 77
    }
  done
}

unpack_sdk() { tar -xzf "${packages}"/sotto-sdk-*.tar.gz --strip-components=1 --one-top-level=sdk; }

# same_update FILE: fails unless the file has the update that the flat build has found, in its first line.
same_update() {
  local update
  update="$(head -n 1 "${source_dir}/tests/packages/update.txt")"
  grep -qxF "${update}" "$1" || {
    echo "the update differs from tests/packages/update.txt:"
    cat "$1"
    return 1
  }
}

# emulate EMULATOR MACHINE PROGRAM [OPTION...]: what the program prints.
emulate() {
  timeout 120 "$1" -M "$2" -display none -monitor none -serial none "${@:4}" \
    -semihosting-config enable=on,target=native -kernel "$3" 2>&1
}
