#!/usr/bin/env bash
# install.sh SOURCE_DIR BUILD_DIR WORK_DIR CMAKE CXX
# What is installed is complete and can be moved: a project outside the tree finds it, and the
# example of README.md, linked to it, runs. The project is that of sdk/DEVICE.md.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3" cmake="$4" cxx="$5"
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

# Nothing of this checkout may be needed by those who only have the installed files.
if grep -rlF -e "${source_dir}/sdk" -e "${build_dir}/sdk" "${work}/moved" --include='*.cmake' --include='*.h'; then
  echo "^ these installed files name the source or build folder"
  exit 1
fi
