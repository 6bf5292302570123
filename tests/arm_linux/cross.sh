#!/usr/bin/env bash
# cross.sh SOURCE_DIR PRESET MBEDTLS [CMAKE_OPTION...]
# Builds sotto-client, sotto-gateway and, of 32 bits, the tests of the SDK for Arm Linux (PRESET: aarch64, armhf) in
# build/arm-linux/PRESET, with Mbed TLS from build/cache/MBEDTLS. With 32 bits the tests of the SDK and of TLS run under
# QEMU; with 64 bits, as on the host, the golden values elsewhere, and the client in arm_linux_fleet_test. The client
# must need no library that is not on every system; it is linked statically, too. Exits with 77, skipped, where a compiler, an emulator or a source is
# missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../device/build.sh"
cd "$1"
preset="$2" mbedtls="build/cache/$3"
case "${preset}" in
  aarch64) emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu) tests=() ;;
  armhf) emulator=(qemu-arm -L /usr/arm-linux-gnueabihf) tests=(tls_test sdk_test) ;;
esac

missing="$(
  missing_for "${preset}"
  for source in "${mbedtls}" build/cache/{zlib-1.2.13,libcsv-3.0.3}; do
    [[ -d "${source}" ]] || echo "${source} (toolchains/fetch-source.sh)"
  done
  [[ -d /usr/src/googletest ]] || echo '/usr/src/googletest (package libgtest-dev)'
)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi

folder="build/arm-linux/${preset}"
# The golden tests run what each optimisation level makes of the SDK; here the least compiles in less time.
cmake --preset "${preset}" -B "${folder}" -DSOTTO_TESTS=ON -DSOTTO_STATIC=ON "-DSOTTO_MBEDTLS_SOURCE_DIR=${PWD}/${mbedtls}" \
  '-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG' '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG' -DSOTTO_TEXTS_FLAG=-O0 "${@:4}"
cmake --build "${folder}" --target sotto_client{,_static} sotto_gateway{,_static} "${tests[@]}" --parallel 1

needed="$(readelf -d "${folder}/bin/sotto-client" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')"
echo "sotto-client needs ${needed//$'\n'/, }"
if grep -vE '^(ld-linux[a-z0-9-]*|lib(c|m|gcc_s|stdc\+\+))\.so\.[0-9]+$' <<< "${needed}"; then
  echo "^ sotto-client should do without"
  exit 1
fi
"${emulator[@]}" "${folder}/bin/sotto-client" --version
"${emulator[@]}" "${folder}/bin/sotto-gateway" --version
# Without the large data sets, which an emulator trains on for minutes.
for test in "${tests[@]}"; do
  env -u SOTTO_TEST_DATA "${emulator[@]}" "${folder}/bin/${test}" --gtest_brief=1
done
