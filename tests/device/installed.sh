#!/usr/bin/env bash
# installed.sh SOURCE_DIR WORK_DIR
# An SDK that is installed for a Cortex-M4F brings TLS, nanopb and Mbed TLS, and can be moved: a firmware in C that finds
# it is linked, and pkg-config names what it links.
# Skipped, 77, where the compiler or a source is missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"
cd "$1"
work="$2"
missing="$(missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi
rm -rf "${work}"
cmake --preset cortex-m4 -B "${work}/build" -DSOTTO_WARNINGS_AS_ERRORS=ON \
  "-DSOTTO_MBEDTLS_CONFIG=${PWD}/examples/cortex_m/mbedtls_config.h"
cmake --build "${work}/build" --parallel 1
cmake --install "${work}/build" --prefix "${work}/installed" > "${work}/install.log"
mv "${work}/installed" "${work}/moved"

cmake -S tests/device/installed -B "${work}/firmware" -G Ninja --toolchain "${PWD}/toolchains/arm-none-eabi.cmake" \
  -DSOTTO_CPU=cortex-m4 -DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_PREFIX_PATH=${work}/moved" "-DSOTTO=${PWD}"
cmake --build "${work}/firmware"
arm-none-eabi-nm "${work}/firmware/my_firmware" | grep ' T mbedtls_ssl_handshake$'

read -ra flags <<< "$(PKG_CONFIG_PATH="${work}/moved/lib/pkgconfig" pkg-config --cflags --libs sotto-tls)"
[[ "${flags[*]}" == "-I${work}/moved/lib/pkgconfig/../../include -L${work}/moved/lib/pkgconfig/../../lib -lsotto_tls "* ]]
for library in sotto_tls sotto_mbedtls sotto_sdk sotto_nanopb sotto_mbedcrypto; do
  [[ " ${flags[*]} " == *" -l${library} "* && -e "${work}/moved/lib/lib${library}.a" ]]
done
