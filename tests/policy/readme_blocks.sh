#!/usr/bin/env bash
# readme_blocks.sh SOURCE_DIR WORK_DIR CXX
# README.md shows code that compiles: each cpp block on its own against the SDK, one of them the file
# examples/minimal/main.cc; each cmake block is the test consumer's. Fences say their language.
set -euo pipefail
source_dir="$1" work="$2" cxx="$3"
readme="${source_dir}/README.md"
status=0
rm -rf "${work}"
mkdir -p "${work}"

# One file a block: 1.cpp, 2.sh, ...
awk -v work="${work}" '
  /^```/ && !inside { inside = 1; count++; file = work "/" count "." substr($0, 4); printf "" > file; next }
  /^```/ { inside = 0; close(file); next }
  inside { print > file }
  END { if (inside) { print "README.md: a fence is not closed"; exit 1 } }' "${readme}"

shows_example=false
for block in "${work}"/*; do
  case "${block}" in
    *.cpp)
      "${cxx}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I "${source_dir}/sdk/include" \
        "${block}" || status=1
      ! cmp -s "${block}" "${source_dir}/examples/minimal/main.cc" || shows_example=true
      ;;
    *.cmake)
      diff -u "${source_dir}/tests/policy/consumer/CMakeLists.txt" "${block}" || status=1
      ;;
    *.sh | *.console | *.text | *.bash) ;;  # bash: e2e.readme_session
    *)
      echo "README.md: block ${block##*/}: the languages are cpp, cmake, sh, bash, console and text"
      status=1
      ;;
  esac
done
if ! ${shows_example}; then
  echo "README.md: no cpp block is examples/minimal/main.cc, character for character"
  status=1
fi
exit "${status}"
