#!/usr/bin/env bash
# install.sh SOURCE_DIR BUILD_DIR WORK_DIR CMAKE CC CXX
# What is installed is complete and can be moved: a project outside the tree finds it, and the
# example of README.md, linked to it, runs. sdk/DEVICE.md shows the project.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3" cmake="$4" cc="$5" cxx="$6"
rm -rf "${work}"
mkdir -p "${work}/consumer"

"${cmake}" --install "${build_dir}" --prefix "${work}/installed" > "${work}/install.log"
mv "${work}/installed" "${work}/moved"
"${work}/moved/bin/sotto" --version
"${cmake}" --install "${build_dir}" --component gateway --prefix "${work}/gateway" >> "${work}/install.log"
(cd "${work}/gateway" && find . -type f | sort | diff - <(printf './%s\n' bin/sotto-gateway lib/systemd/system/sotto-gateway.service))

cp "${source_dir}"/tests/policy/consumer/* "${source_dir}/examples/minimal/main.cc" "${work}/consumer"
"${cmake}" -S "${work}/consumer" -B "${work}/build" -G Ninja "-DCMAKE_CXX_COMPILER=${cxx}" \
  "-DCMAKE_PREFIX_PATH=${work}/moved"
"${cmake}" --build "${work}/build"
"${work}/build/my_device"

# The device in C, by pkg-config: it takes part in a round of the installed server.
cp -r "${source_dir}/examples/minimal_c" "${work}/c"
cd "${work}/c"
"${work}/moved/bin/sotto" keys new desk.db --count 1 --prefix desk- --out keys
"${work}/moved/bin/sotto" keys export desk.db desk-000000 --header desk-0.h
"${work}/moved/bin/sotto" serve desk.db --once --model softmax-64-10 --cohort 1 --rounds 1 --noise-multiplier 1 \
  --colluders 0 --delta 0.01 --close-early --listen 127.0.0.1:0 --port-file port > server.txt 2>&1 &
server="$!"
trap 'kill "${server}" 2> /dev/null || true' EXIT
for _ in {1..100}; do
  [[ ! -s port ]] || break
  sleep 0.1
done
export PKG_CONFIG_PATH="${work}/moved/lib/pkgconfig"
read -ra flags <<< "$(pkg-config --cflags sotto-tls)"
read -ra libraries <<< "$(pkg-config --libs sotto-tls)"
"${cc}" -std=c99 -pedantic -Wall -Wextra -Werror "${flags[@]}" '-DSOTTO_DEVICE_KEY="desk-0.h"' "-DSOTTO_PORT=$(< port)" \
  -c main.c desk.c
"${cxx}" -std=c++17 -Wall -Wextra -Werror "${flags[@]}" models.cc main.o desk.o "${libraries[@]}" -o device
./device || {
  cat server.txt
  exit 1
}
wait "${server}"
grep -q "the plan's one round is released" server.txt
# The header of the example is what the program prints.
"${work}/moved/bin/sotto" model show softmax-64-10 --c | diff - model_softmax_64_10.h

# Nothing of this checkout may be needed by those who only have the installed files.
if grep -rlF -e "${source_dir}/sdk" -e "${build_dir}/sdk" "${work}/moved" --include='*.cmake' --include='*.h'; then
  echo "^ these installed files name the source or build folder"
  exit 1
fi
