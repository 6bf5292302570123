#!/usr/bin/env bash
# porting_page.sh SOURCE_DIR WORK_DIR CXX
# ports/PORTING.md shows code that compiles against the SDK and the template; what is not compiled says
# so in its first line.
set -euo pipefail
source_dir="$1" work="$2" cxx="$3"
rm -rf "${work}"
mkdir -p "${work}"
awk -v work="${work}" '
  /^```/ && !inside { inside = 1; file = work "/" ++count "." substr($0, 4); printf "" > file; next }
  /^```/ { inside = 0; close(file); next }
  inside { print > file }' "${source_dir}/ports/PORTING.md"
status=0
compiled=0
for block in "${work}"/*; do
  case "${block}" in
    *.cpp)
      "${cxx}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I "${source_dir}/sdk/include" \
        -I "${source_dir}/ports/template/include" -I "${source_dir}/ports/conformance/include" \
        "${block}" || status=1
      compiled=$((compiled + 1))
      ;;
    *.cmake | *.sh) ;;  # policy.porting_project
    *.text) head -n 1 "${block}" | grep -q '(a sketch, not compiled here)$' || status=1 ;;
    *)
      echo "ports/PORTING.md: block ${block##*/}: the languages are cpp, cmake, sh and text"
      status=1
      ;;
  esac
done
((compiled > 0)) || status=1
exit "${status}"
