#!/usr/bin/env bash
# flat.sh SOURCE_DIR WORK_DIR SOTTO
# The commands of the archive's README, as they are, without a warning; then what a firmware takes from the archive besides: the
# device in C, as C99, with each model's header; port and conformance. Every function that the archive
# defines has a name of Sotto's, so it clashes with none of a firmware's.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unpack_sdk
cd sdk
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' README.md > commands.sh
[[ "$(wc -l < commands.sh)" == 3 ]]
bash -euxo pipefail commands.sh > output.txt 2> log.txt || {
  cat log.txt output.txt
  exit 1
}
if grep -n 'warning' log.txt; then exit 1; fi
same_update output.txt
# Each source has an object: no two of them have one name.
[[ "$(find . -maxdepth 1 -name '*.o' | wc -l)" == "$(find src -name '*.c' -o -name '*.cc' | wc -l)" ]]
nm --defined-only --extern-only ./*.o |
  awk 'NF == 3 && $3 !~ /^(sotto_|_Z[A-Z0-9]*5sotto|_ZN?K?St|DW\.ref\.|main$)/ { print; bad = 1 } END { exit bad }'
# And it calls nothing that needs a heap or an operating system, as its README says.
# shellcheck disable=SC2016  # Markdown has backquotes
sed -n '/^- Link with/,/^- `-Os/p' README.md | grep -oE '`[a-z]+`' | tr -d '`' > called.txt
nm --undefined-only ./*.o | awk '
  NR == FNR { called[$1]; next }
  NF == 2 && !($2 in called) && $2 !~ /^(sotto_|_Z[A-Z0-9]*5sotto|_Unwind_Resume|__cpu_model|__gxx_personality_v0|_GLOBAL_OFFSET_TABLE_)/ { print; bad = 1 }
  END { exit bad }' called.txt -

# In C: the program, and the headers of models, which are those that `sotto` prints.
warnings=(-Wall -Wextra -Werror -I. -Isrc)
ar rcs libsotto.a ./*.o
for model in models/*.h; do
  echo "#include \"${model}\""
  name="$(sed -n '1s/.* model \(.*\) for C.*/\1/p' "${model}")"
  "${sotto}" model show "${name}" --c --batch-size 16 | diff "${model}" - || {
    echo "toolchains/package/${model} is not what sotto prints: toolchains/package.py --models build/host/bin/sotto"
    exit 1
  }
done > models.c
(echo '#define SOTTO_DEFINE_MODELS' && cat models.c) > models.cc
gcc -std=c99 -pedantic "${warnings[@]}" -c models.c -o models_c.o
g++ -std=c++17 "${warnings[@]}" -c models.cc -o models.o
gcc -std=c99 -pedantic "${warnings[@]}" -Imodels -c examples/minimal_c/main.c -o main_c.o
gcc -std=c99 -pedantic "${warnings[@]}" -Iexamples/minimal_c -c "${source_dir}/tests/packages/desk.c" -o desk.o
g++ main_c.o desk.o models.o libsotto.a -lm -o device
./device

for file in conformance/src/check.cc port/src/port.cc examples/minimal/main.cc; do
  g++ -std=c++17 "${warnings[@]}" -Itls -Iconformance/include -Iport/include -fsyntax-only "${file}"
done
