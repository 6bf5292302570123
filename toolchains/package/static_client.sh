#!/usr/bin/env bash
# Packs sotto-client and sotto-gateway, linked statically, for any Linux of a CPU.
set -euo pipefail

usage() {
  cat << 'END'
Usage: toolchains/package/static_client.sh ARCH OUT_DIR

Builds sotto-client and sotto-gateway for ARCH (Debian's name: amd64, arm64, armhf) without shared
libraries and writes OUT_DIR/sotto-client-VERSION-linux-ARCH.tar.gz: both programs, a README and the
licences. The same sources, compilers and libraries give the same bytes, whatever the folder and the
date. Needs a compiler for ARCH (Debian: g++, g++-aarch64-linux-gnu, g++-arm-linux-gnueabihf) and the
packages of a cross build, see ports/posix/client/README.md. Builds in build/static/ARCH.

Environment: SOTTO_BUILD        a build of the preset with -DSOTTO_STATIC=ON: its programs are packed
             SOURCE_DATE_EPOCH  date of the packed files; default: the newest entry of debian/changelog
END
}

fail() {
  echo "static_client.sh: $1" >&2
  exit 1
}

case "$#:${1-}" in
  1:-h | 1:--help)
    usage
    exit 0
    ;;
  2:[!-]*) ;;
  *)
    usage >&2
    exit 2
    ;;
esac
arch="$1"
case "${arch}" in
  amd64) preset=x86_64 tools=x86_64-linux-gnu ;;
  arm64) preset=aarch64 tools=aarch64-linux-gnu ;;
  armhf) preset=armhf tools=arm-linux-gnueabihf ;;
  *) fail "${arch}: no such CPU here; use amd64, arm64 or armhf" ;;
esac
mkdir -p "$2"
out="$(cd "$2" && pwd)"
[[ -z "${SOTTO_BUILD-}" ]] || SOTTO_BUILD="$(cd "${SOTTO_BUILD}" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v "${tools}-g++" > /dev/null ||
  fail "no ${tools}-g++; install the package g++-${tools} (on ${arch} itself: g++)"
version="$(sed -nE 's/.*kVersion\[\] = "(.*)".*/\1/p' sdk/include/sotto/version.h)"
date="@${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)}"
sources=(mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13 libcsv=3.0.3)
toolchains/fetch-source.sh build/cache bookworm "${sources[@]}"

build="${SOTTO_BUILD-}"
if [[ -z "${build}" ]]; then
  build="build/static/${arch}"
  # No folder's name becomes part of a program.
  flags="-ffile-prefix-map=${PWD}/build/static/${arch}=build -ffile-prefix-map=${PWD}=."
  cmake --preset "${preset}" -B "${build}" -DSOTTO_STATIC=ON -DSOTTO_WARNINGS_AS_ERRORS=OFF \
    "-DCMAKE_C_FLAGS=${flags}" "-DCMAKE_CXX_FLAGS=${flags}"
  cmake --build "${build}" --target sotto_client_static sotto_gateway_static
fi

name="sotto-client-${version}-linux-${arch}"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
folder="${work}/${name}"
mkdir -p "${folder}"/{licences,sources/libcsv}
for program in sotto-client sotto-gateway; do
  "${tools}-strip" -o "${folder}/${program}" "${build}/static/${program}"
  [[ -n "${SOTTO_BUILD-}" ]] || ! grep -qaF "${PWD}" "${folder}/${program}" || fail "${program} names the folder ${PWD}"
done
cp LICENSE "${folder}"
# Built from sources; libcsv's own go along, as its licence asks.
cache=build/cache
cp "${cache}/mbedtls-2.28/LICENSE" "${folder}/licences/mbedtls"
cp "${cache}/nanopb-0.4.7/LICENSE.txt" "${folder}/licences/nanopb"
cp "${cache}/zlib-1.2.13/LICENSE" "${folder}/licences/zlib"
cp "${cache}/libcsv-3.0.3/COPYING.LESSER" "${folder}/licences/libcsv"
cp "${cache}"/libcsv-3.0.3/{libcsv.c,csv.h} "${folder}/sources/libcsv"
# Debian's headers and archives, with the versions that this machine has.
packages=(libcli11-dev libeigen3-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev)
for archive in libc.a libstdc++.a libgcc.a; do
  path="$(realpath "$("${tools}-g++" "-print-file-name=${archive}")")"
  packages+=("$(dpkg-query -S "${path}" | sed -E 's/(:[a-z0-9]+)?: .*//')")
done
versions=''
for package in "${packages[@]}"; do
  [[ -e "/usr/share/doc/${package}/copyright" ]] ||
    fail "no /usr/share/doc/${package}/copyright, whose text must go along; reinstall ${package}"
  cp "/usr/share/doc/${package}/copyright" "${folder}/licences/${package}"
  versions+="  $(dpkg-query -W -f '${source:Package} ${source:Version}' "${package}")"$'\n'
done
{
  sed -e "s/@VERSION@/${version}/g; s/@ARCH@/${arch}/g" toolchains/package/static_client.txt
  printf '%s' "${versions}" | sort -u
} > "${folder}/README.txt"
chmod -R u=rwX,go=rX "${folder}"
chmod 755 "${folder}"/sotto-*
tar -C "${work}" --sort=name --mtime="${date}" --owner=0 --group=0 --numeric-owner --format=ustar -c "${name}" |
  gzip -9n > "${work}/packed"
mv "${work}/packed" "${out}/${name}.tar.gz"
chmod 644 "${out}/${name}.tar.gz"
echo "${out}/${name}.tar.gz"
