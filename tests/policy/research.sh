#!/usr/bin/env bash
# research.sh SOURCE_DIR BUILD_DIR WORK_DIR CXX
# A program with own methods, built outside of the tree against the installed library: the blocks of
# examples/research/README.md, played as they stand, and what the page says of their output.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3"
export CXX="$4"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
rm -rf "${work}"
mkdir -p "${work}/build"
cp -r "${source_dir}/examples" "${work}/examples"
ln -s "${build_dir}" "${work}/build/host"
extract_blocks examples/research/README.md "${work}/blocks"
cd "${work}"

fail() {
  cat output.txt
  echo "FAILED: $1"
  exit 1
}
has() { grep -qF -e "$1" output.txt || fail "no line has: $1"; }
has_not() { ! grep -qF -e "$1" output.txt || fail "a line has: $1"; }
play() { bash -e "$1" > output.txt 2>&1 || fail "$1"; }
refuses() {
  if build/research/my-sotto "$@" > output.txt 2>&1; then fail "this is not refused: $*"; fi
}

blocks=(blocks/*.bash)
[[ "${#blocks[@]}" == 3 ]] || fail "the page has other blocks than this test knows"
diff blocks/*.cmake examples/research/CMakeLists.txt
(($(wc -l < examples/research/main.cc) <= 60)) || fail "main.cc has more than 60 lines"

play "${blocks[0]}"
for name in 'lion[:BETA]' 'trimmed[:SHARE]' sixteen-bits ladder; do has "${name}"; done
has 'accuracy'
# What is installed names neither the checkout nor the build folder.
if grep -rlF -e "${source_dir}/" -e "${build_dir}/" build/installed --include='*.cmake' --include='*.h'; then
  fail "^ these installed files do"
fi

play "${blocks[1]}"
has 'NO PRIVACY: own codec sign states no noise'
has 'own codec sixteen-bits: UNPROVED'
[[ "$(grep -c 'epsilon [0-9]' output.txt)" -gt 0 ]] || fail "a codec that states its noise has no epsilon"
small=(--data synthetic --model softmax-64-10 --devices 60 --cohort 10 --rounds 2)
build/research/my-sotto simulate "${small[@]}" --mechanism sign --json sign.json > output.txt 2>&1
has_not 'epsilon 0' && has_not 'at delta'
python3 - sign.json << 'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
assert run["epsilon"] is None and run["claims"] == [] and run["private"] is False, run["claims"]
assert run["mechanism"] == "sign" and "NO PRIVACY" in run["privacy_note"]
PYTHON

# A state goes on: a run that is stopped somewhere and resumed ends with the bytes of one that is not.
small=(--data synthetic --model softmax-64-10 --devices 60 --cohort 10 --rounds 40 --seed 7 --noise-multiplier 1
  --delta 1e-3 --server-optimiser lion:0.5 --server-learning-rate 0.01 --evaluate-every 1)
simulate() { build/research/my-sotto simulate "${small[@]}" "$@" > output.txt 2>&1; }
simulate --model-out whole.f32 || fail "the whole run"
rm output.txt  # of the whole run, which has the line that is waited for
simulate --state-out state &
run=$!
for _ in {1..200}; do
  ! grep -qs '^round 2/40' output.txt || break
  sleep 0.05
done
pkill -INT -P "${run}" || fail "the run ended before it could be stopped"
wait "${run}" && fail "the run was not stopped"
simulate --resume state --model-out parts.f32 || fail "the resumed run"
cmp whole.f32 parts.f32

play "${blocks[2]}"
has 'lion:0.5'

refuses simulate --server-optimiser lion:2 --data synthetic
has '--server-optimiser lion:2: expected lion:NUMBER'
refuses simulate --server-optimiser lions --data synthetic
refuses serve store.db --mechanism sixteen-bits --model softmax-64-10
has 'sixteen-bits'
build/research/my-sotto serve --help > output.txt
has 'lion[:BETA]'
# The plain program has none of them.
if build/host/bin/sotto simulate --server-optimiser lion --data synthetic > output.txt 2>&1; then
  fail "sotto has lion"
fi
