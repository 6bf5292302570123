#!/usr/bin/env bash
# static_client.sh SOURCE_DIR WORK_DIR SOTTO
# toolchains/package/static_client.sh packs the programs that arm_linux.aarch64 and arm_linux.armhf have linked statically:
# the same bytes twice, and under QEMU, with no library of that CPU, they start, resolve a name and say what is wrong.
# arm_linux_fleet_test has such a client in a live fleet. Skipped, 77, where neither CPU was built.
set -euo pipefail
source_dir="$1" work="$2" sotto="$3"
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
fail() {
  echo "FAILED: $1"
  exit 1
}

# A port of this machine that nothing listens on, by name.
"${sotto}" keys new store --count 1 --kits kits --server localhost:1 --model softmax-784-10 --data images > keys.txt
packed=0
for cpu in 'arm64 aarch64 qemu-aarch64' 'armhf armhf qemu-arm'; do
  read -r arch preset emulator <<< "${cpu}"
  build="${source_dir}/build/arm-linux/${preset}"
  if [[ ! -x "${build}/static/sotto-client" ]] || ! command -v "${emulator}" > /dev/null; then
    echo "NOT TESTED: ${arch}: no ${build}/static/sotto-client (arm_linux.${preset}) or no ${emulator}"
    continue
  fi
  for place in one two; do
    (umask "$([[ "${place}" == one ]] && echo 022 || echo 077)" && TZ="Asia/Tokyo" SOTTO_BUILD="${build}" \
      "${source_dir}/toolchains/package/static_client.sh" "${arch}" "${place}") > "${place}.log"
  done
  file="$(basename "$(cat one.log)")"
  [[ "${file}" == sotto-client-*-linux-"${arch}".tar.gz ]] || fail "the name ${file}"
  cmp "one/${file}" "two/${file}" || fail "${arch}: two packings differ"
  tar -xzf "one/${file}"
  cd "${file%.tar.gz}"
  for program in sotto-client sotto-gateway; do
    ! readelf -dlW "${program}" | grep -E 'NEEDED|INTERP' || fail "${program} needs what is named above"
    "${emulator}" "./${program}" --version
    "${emulator}" "./${program}" --help > help.txt
    grep -q "^Usage: ${program}" help.txt || fail "--help of ${program}"
  done
  ! "${emulator}" ./sotto-client --kit ../kits/device-000000.sotto --check > check.txt 2>&1 || fail "--check without a server"
  grep -q '^server: localhost:1: cannot connect: Connection refused' check.txt || fail "a name: $(cat check.txt)"
  for text in licences/libc6* licences/libcsv licences/mbedtls sources/libcsv/libcsv.c LICENSE README.txt; do
    [[ -s "${text}" ]] || fail "no ${text}"
  done
  ! grep -n '@' README.txt || fail 'README.txt has a mark that nothing replaced'
  cd ..
  packed=$((packed + 1))
done
((packed > 0)) || {
  echo 'skipped: neither of the Arm builds is there'
  exit 77
}
echo 'ok'
