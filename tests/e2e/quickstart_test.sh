#!/usr/bin/env bash
# quickstart_test.sh SOURCE_DIR BUILD_DIR WORK_DIR
# The quickstart works from another folder, builds nothing that is there, trains a model that is far better than
# chance, and what it proposes to do next works. tests/run.sh has run it before, from nothing: so BUILD_DIR has
# come to be. Skipped, 77, if BUILD_DIR is not the one that the quickstart takes.
#
# A run without a seed is random. The accuracy of such runs scatters by about 0.01 around 0.77
# (made-up data: 0.66), so the bound of 0.5 fails a sound build with a chance far below 1e-8.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3"
if [[ "${build_dir##*/}" != host ]]; then
  echo "skipped: the quickstart builds in a folder of the name host, not in ${build_dir}"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
export SOTTO_BUILD_ROOT="${build_dir%/host}"
# tests/run.sh sets these for builds of other CPUs; here they would change how each object is compiled.
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
cd /

fail() {
  echo "FAILED: $1"
  exit 1
}

"${source_dir}/examples/quickstart/run.sh" > "${work}/out.txt" 2>&1 || fail "$(cat "${work}/out.txt")"
cat "${work}/out.txt"
grep -q 'no work to do' "${work}/out.txt" || fail "it builds what is there"
results="${SOTTO_BUILD_ROOT}/quickstart/results.json"
awk '/^  "accuracy": / { found = 1; exit !($2 + 0 > 0.5 && $2 + 0 < 1) } END { if (!found) exit 1 }' \
  "${results}" || fail "the accuracy in ${results}"
[[ "$(stat -c %s "${SOTTO_BUILD_ROOT}/quickstart/model.f32")" == 31400 ]] || fail "the size of the model"
for line in '^  accuracy  0.1000 -> 0\.[5-9]' '^  epsilon   [0-9.]+ at delta 1e-05, .* adjacency' \
  '^  upload    [0-9]+ bytes' '^  time      [0-9]+ s'; do
  grep -qE "${line}" "${work}/out.txt" || fail "no line ${line}"
done

mapfile -t proposals < <(sed -n '/^Next:$/,$s/^  //p' "${work}/out.txt")
((${#proposals[@]} == 3)) || fail "three proposals, not ${#proposals[@]}"
for proposal in "${proposals[@]}"; do
  echo "run: ${proposal}"
  bash -c "${proposal}" > "${work}/proposal.txt" 2>&1 || fail "$(cat "${work}/proposal.txt")"
done
