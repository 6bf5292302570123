#!/usr/bin/env bash
# debian_arm.sh SOURCE_DIR WORK_DIR BUILD_DIR
# The package sotto-client for arm64 and armhf, of the programs that arm_linux.aarch64 and arm_linux.armhf have built;
# BUILD_DIR's programs say what the manual is. lintian finds no error, the fields name the CPU and its libraries, and the
# programs start under QEMU. Skipped, 77, without dpkg-buildpackage or debhelper, or where neither CPU was built.
set -euo pipefail
source_dir="$1" work="$2" build="$3"
for program in dpkg-buildpackage dh; do
  command -v "${program}" > /dev/null || {
    echo "skipped: no ${program} (packages dpkg-dev, debhelper)"
    exit 77
  }
done
rm -rf "${work}"
mkdir -p "${work}/source"
cd "${work}"
for file in "${source_dir}"/*; do [[ "${file##*/}" == build ]] || cp -a "${file}" source/; done
fail() {
  echo "FAILED: $1"
  exit 1
}

packed=0
for cpu in 'arm64 aarch64 qemu-aarch64 aarch64-linux-gnu' 'armhf armhf qemu-arm arm-linux-gnueabihf'; do
  read -r arch preset emulator tools <<< "${cpu}"
  programs="${source_dir}/build/arm-linux/${preset}"
  if [[ ! -x "${programs}/bin/sotto-client" ]] || ! command -v "${emulator}" > /dev/null; then
    echo "NOT TESTED: ${arch}: no ${programs}/bin/sotto-client (arm_linux.${preset}) or no ${emulator}"
    continue
  fi
  (cd source && SOTTO_BUILD="${programs}" SOTTO_MANUAL="${build}" DEB_BUILD_PROFILES=pkg.sotto.client \
    dpkg-buildpackage "-a${arch}" --build=any --no-sign --no-check-builddeps) > "${arch}.log" 2>&1 || {
    tail -n 40 "${arch}.log"
    fail "dpkg-buildpackage -a${arch}"
  }
  file="$(echo sotto-client_*_"${arch}".deb)"
  [[ "$(dpkg-deb -f "${file}" Architecture)" == "${arch}" ]] || fail "${file}: the architecture"
  depends="$(dpkg-deb -f "${file}" Depends)"
  echo "${file} depends on ${depends}"
  [[ "${depends}" == *'libc6 (>= '*libstdc++6* && "${depends}" != *cross* && "${depends}" != *:* ]] || fail 'Depends'
  if command -v lintian > /dev/null; then
    lintian --allow-root --fail-on error --profile debian ./*_"${arch}".changes || fail "lintian, ${arch}"
  fi
  dpkg-deb -x "${file}" "${arch}"
  for program in sotto-client sotto-gateway; do
    "${emulator}" -L "/usr/${tools}" "${arch}/usr/bin/${program}" --version
  done
  [[ -s "${arch}/usr/share/man/man1/sotto-client.1.gz" ]] || fail 'no manual'
  packed=$((packed + 1))
done
((packed > 0)) || {
  echo 'skipped: neither of the Arm builds is there'
  exit 77
}
echo 'ok'
