#!/usr/bin/env bash
# Packs the Python package as a wheel that brings the programs along.
set -euo pipefail

usage() {
  cat << 'END'
Usage: toolchains/package/wheel.sh OUT_DIR

Builds `sotto` and `sotto-lab` of this machine's CPU without shared libraries and writes
OUT_DIR/sotto-VERSION-py3-none-manylinux_..._CPU.whl: the Python package with both programs, which pip puts into the
environment's bin. It runs on any Linux of the CPU, whatever its C library. The programs lack what needs an
optional library: the page of a server, ONNX, MATLAB files, recordings, PostgreSQL. The same sources, compilers and libraries
give the same bytes, whatever the folder and the date. Builds in build/static/wheel.

Environment: SOTTO_BUILD        a build with static programs in bin/: they are packed
             SOURCE_DATE_EPOCH  date of the packed files; default: the newest entry of debian/changelog
END
}

fail() {
  echo "wheel.sh: $1" >&2
  exit 1
}

[[ "${1-}" != -h && "${1-}" != --help ]] || { usage && exit 0; }
if (($# != 1)) || [[ "$1" == -* ]]; then
  usage >&2
  exit 2
fi
mkdir -p "$1"
out="$(cd "$1" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root="${PWD}"
python=python3
[[ ! -x /usr/bin/python3 ]] || python=/usr/bin/python3  # that Debian's packages are for
for module in pip setuptools wheel; do
  "${python}" -c "import ${module}" 2> /dev/null || fail "Python has no ${module}; install the package python3-${module}"
done
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)}"
export SOURCE_DATE_EPOCH

# Libraries that Debian has as shared ones alone, as archives in a folder of this build.
static_library() { # NAME SOURCE OPTION...
  cmake -S "build/cache/$2" -B "build/static/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    "-DCMAKE_INSTALL_PREFIX=${root}/build/static/prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    "-DCMAKE_C_FLAGS=${flags}" "-DCMAKE_CXX_FLAGS=${flags}" "${@:3}" > "build/static/$1.log"
  cmake --build "build/static/$1" --target install >> "build/static/$1.log" ||
    fail "$1 does not build; see build/static/$1.log"
}

build="${SOTTO_BUILD-}"
if [[ -z "${build}" ]]; then
  toolchains/fetch-source.sh build/cache bookworm kissfft=131.1.0 libzip=1.7.3 fmtlib=9.1.0
  mkdir -p build/static
  # No folder's name becomes part of a program.
  flags="-ffile-prefix-map=${root}=."
  static_library zip libzip-1.7.3 -DBUILD_{TOOLS,REGRESS,EXAMPLES,DOC}=OFF \
    -DENABLE_{COMMONCRYPTO,GNUTLS,MBEDTLS,OPENSSL,WINDOWS_CRYPTO,BZIP2,LZMA,ZSTD}=OFF
  static_library fmt fmtlib-9.1.0 -DFMT_{TEST,DOC}=OFF
  build=build/static/wheel
  cmake -S . -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PROJECT_sotto_INCLUDE=${root}/toolchains/package/static.cmake" \
    "-DCMAKE_PREFIX_PATH=${root}/build/static/prefix" "-DSOTTO_KISSFFT_SOURCE_DIR=${root}/build/cache/kissfft-131.1.0" \
    -DSOTTO_WITH_{HTTP,MAT,SNDFILE,POSTGRES,ONNX}=OFF "-DCMAKE_C_FLAGS=${flags}" "-DCMAKE_CXX_FLAGS=${flags}"
  cmake --build "${build}" --target sotto_cli sotto_lab
fi
for program in sotto sotto-lab; do
  ! readelf -d "${build}/bin/${program}" | grep -q NEEDED || fail "${build}/bin/${program} needs shared libraries"
done

work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
cp -r toolchains/package/python "${work}/source"
"${python}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "${work}/pure" "${work}/source"
"${python}" -m wheel unpack --dest "${work}/unpacked" "${work}"/pure/*.whl > /dev/null
folder="$(echo "${work}"/unpacked/sotto-*)"
scripts="${folder}/$(basename "${folder}").data/scripts"
mkdir -p "${scripts}" "${folder}/$(basename "${folder}").dist-info/licences"
for program in sotto sotto-lab; do strip -o "${scripts}/${program}" "${build}/bin/${program}"; done
chmod 755 "${scripts}"/*
cp LICENSE "${folder}/$(basename "${folder}").dist-info/licences/Apache-2.0"
cpu="$(uname -m)"
sed -i -e 's/^Root-Is-Purelib: .*/Root-Is-Purelib: false/' \
  -e "s/^Tag: .*/Tag: py3-none-manylinux_2_17_${cpu}\nTag: py3-none-musllinux_1_1_${cpu}/" "${folder}"/*.dist-info/WHEEL
"${python}" -m wheel pack --dest-dir "${out}" "${folder}" > /dev/null
ls "${out}"/sotto-*linux*.whl
