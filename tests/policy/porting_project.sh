#!/usr/bin/env bash
# porting_project.sh SOURCE_DIR WORK_DIR
# The project of ports/PORTING.md, laid out and built as the page says, is linked for a Cortex-M4F: its
# cmake block, its commands, its check and a copy of the template. Skipped, 77, where the compiler or
# the sources of Mbed TLS and nanopb are missing.
set -euo pipefail
source_dir="$1" work="$2"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"
missing="$(cd "${source_dir}" && missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"

# block LANGUAGE [TEXT]: the first of that language that has this text.
block() {
  awk -v fence="^\`\`\`$1\$" -v text="${2-}" '
    $0 ~ fence { inside = 1; block = ""; next }
    /^```/ && inside {
      inside = 0
      if (index(block, text) > 0) { printf "%s", block; exit }
    }
    inside { block = block $0 "\n" }' "${source_dir}/ports/PORTING.md"
}

ln -s "${source_dir}" sotto
cp -r "${source_dir}/ports/template" port
cp "${source_dir}/examples/cortex_m/mbedtls_config.h" "${source_dir}"/tests/policy/board/* .
# The SDK under its own path and, below, with others' options: its objects are those that other tests have compiled.
block cmake | sed "s#^add_subdirectory(sotto #add_subdirectory(${source_dir} sotto #" > CMakeLists.txt
block cpp 'int main' > check.cc
# The sources are there already.
block sh | grep -v '^(cd sotto && toolchains/fetch-source.sh .* mbedtls=2.28 nanopb=0.4.7)$' |
  sed 's/^cmake -S . /&-DSOTTO_WARNINGS_AS_ERRORS=ON /' > commands.sh
bash -euxo pipefail commands.sh
[[ -x build/check ]]
