#!/usr/bin/env bash
# quickstart_test.sh SOURCE_DIR WORK_DIR
# The quickstart works from another folder, trains a model that is far better than chance, and what
# it proposes to do next works. A second run builds nothing.
#
# A run without a seed is random. The accuracy of such runs scatters by about 0.01 around 0.77
# (made-up data: 0.66), so the bound of 0.5 fails a sound build with a chance far below 1e-8.
set -euo pipefail
source_dir="$1" work="$2"
rm -rf "${work}"
mkdir -p "${work}"
export SOTTO_BUILD_ROOT="${work}/build"
cd /

fail() {
  echo "FAILED: $1"
  exit 1
}

"${source_dir}/examples/quickstart/run.sh" | tee "${work}/first.txt"
results="${work}/build/quickstart/results.json"
awk '/^  "accuracy": / { found = 1; exit !($2 + 0 > 0.5 && $2 + 0 < 1) } END { if (!found) exit 1 }' \
  "${results}" || fail "the accuracy in ${results}"
[[ "$(stat -c %s "${work}/build/quickstart/model.f32")" == 31400 ]] || fail "the size of the model"
for line in '^  accuracy  0.1000 -> 0\.[5-9]' '^  epsilon   [0-9.]+ at delta 0.000502' \
  '^  upload    [0-9]+ bytes' '^  time      [0-9]+ s'; do
  grep -qE "${line}" "${work}/first.txt" || fail "no line ${line}"
done

mapfile -t proposals < <(sed -n '/^Next:$/,$s/^  //p' "${work}/first.txt")
((${#proposals[@]} == 3)) || fail "three proposals, not ${#proposals[@]}"
for proposal in "${proposals[@]}"; do
  echo "run: ${proposal}"
  bash -c "${proposal}" > "${work}/proposal.txt" 2>&1 || fail "$(cat "${work}/proposal.txt")"
done

"${source_dir}/examples/quickstart/run.sh" > "${work}/second.txt" 2>&1
grep -q 'no work to do' "${work}/second.txt" || fail "the second run builds again"
