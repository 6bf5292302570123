#!/usr/bin/env bash
# ranks.sh SOURCE_DIR WORK_DIR BIN
# Simulations and experiments over MPI: the commands of server/CLUSTER.md; one to four ranks give the bytes of one
# process, whatever the options; a rank that dies leaves a state with which others go on; what fails on one rank, and
# commands that run in one process, end with a message. Skipped, 77, in a build without MPI.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
if ! command -v mpirun > /dev/null || [[ "$(ldd "${bin}/sotto")" != *libmpi* ]]; then
  echo 'skipped: this build is without MPI (packages libopenmpi-dev, openmpi-bin)'
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
# More ranks than processors, also as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe  # Open MPI 4, 5

fail() {
  echo "FAILED: $1"
  shift
  [[ $# == 0 ]] || cat "$@"
  exit 1
}

# Results but for what a run measures of itself.
results() { grep -vE '"(wall_seconds|threads)":' "$1"; }

# MPI may write to standard error, too, of networks and processors.
# same NAME RANKS... -- OPTION...: the files of one process, and of these numbers of ranks.
same() {
  local name="$1" ranks=() count
  shift
  while [[ "$1" != -- ]]; do
    ranks+=("$1")
    shift
  done
  shift
  local run=("${bin}/sotto" simulate --data synthetic --devices 60 --cohort 20 --delta 1e-3 --seed 3 "$@")
  "${run[@]}" --threads 2 --json one.json --model-out one.f32 --state-out one.state > one.txt 2> one.err ||
    fail "${name}" one.err
  for count in "${ranks[@]}"; do
    mpirun -n "${count}" "${run[@]}" --threads 1 --json many.json --model-out many.f32 --state-out many.state \
      > many.txt 2> many.err || fail "${name}, ${count} ranks" many.err
    if ! cmp one.f32 many.f32 || ! cmp one.state many.state || ! diff <(results one.json) <(results many.json) ||
      ! diff <(grep -v 'wall time' one.txt) <(grep -v 'wall time' many.txt) ||
      ! diff <(grep '^round ' one.err) <(grep '^round ' many.err); then
      fail "${name}: ${count} ranks differ"
    fi
  done
  echo "the same: ${name}"
}

small=(--model softmax-64-10 --rounds 4)
same 'drop-outs, participation limits' 1 2 3 4 -- "${small[@]}" --noise-multiplier 1 --dropout 0.2
same 'adaptive clipping' 2 3 -- "${small[@]}" --noise-multiplier 1 --adaptive-clip
same 'private noise' 3 -- "${small[@]}" --trust-mode private-noise --noise-multiplier 1 --private-noise-multiplier 0.5
same 'a schedule of the noise' 2 -- "${small[@]}" --epsilon 8 --noise-decay 0.9
same 'Poisson sampling, an average' 4 -- "${small[@]}" --noise-multiplier 1 --sampling poisson --average uniform
same 'evaluation on devices' 3 -- "${small[@]}" --noise-multiplier 1 --evaluate-on-devices
same 'fixed point, no evaluation' 2 -- --model softmax-64-10-q --rounds 4 --noise-multiplier 1 --evaluate-every 0
same 'smoothing, a net' 3 -- --model small-cnn --rounds 2 --noise-multiplier 1 --smoothing 1
same 'a baseline' 2 -- "${small[@]}" --mechanism none --server-optimiser adam

# A rank is killed in a round; others, as many as there may be, go on.
run=("${bin}/sotto" simulate --data synthetic --model small-cnn --devices 60 --cohort 20
  --noise-multiplier 1 --delta 1e-3 --threads 1)
"${run[@]}" --rounds 30 --seed 5 --model-out whole.f32 > whole.txt 2>&1
mpirun -n 3 "${run[@]}" --rounds 30 --seed 5 --state-out killed.state > killed.txt 2>&1 &
launcher=$!
for ((i = 0; i < 600; i++)); do
  ! grep -q '^round 3/' killed.txt || break
  sleep 0.02
done
pkill -KILL -n -f "^${bin}/sotto simulate .*killed.state" || fail 'no rank is there to be killed' killed.txt
status=0
wait "${launcher}" || status=$?
((status != 0)) || fail 'a run without one of its ranks ended well' killed.txt
grep -q 'signal 9' killed.txt || fail 'nobody says that a rank was killed' killed.txt
[[ -e killed.state ]] || fail 'there is no state' killed.txt
mpirun -n 2 "${run[@]}" --rounds 30 --seed 5 --resume killed.state --model-out resumed.f32 > resumed.txt 2>&1 ||
  fail 'it does not go on' resumed.txt
cmp whole.f32 resumed.f32 || fail 'a run that went on has another model'
echo 'a killed rank costs a round at most'

# ends TEXT COMMAND...: not well, and with a message that has the text, once.
ends() {
  local status=0
  mpirun -n 2 "${@:2}" > ends.txt 2>&1 || status=$?
  if ((status != 1 && status != 2)) || [[ "$(grep -cF -e "$1" ends.txt)" != 1 ]]; then
    fail "status ${status}, not: $1" ends.txt
  fi
}
ends 'this command runs in one process' "${bin}/sotto" serve store.db
ends '--nonsense is no option' "${bin}/sotto" simulate --nonsense
ends 'rank 1: --initial-model whole.f32: ' bash -c "cd \"\$([[ \${OMPI_COMM_WORLD_RANK} == 0 ]] && echo . || echo /)\" &&
  exec '${bin}/sotto' simulate --data synthetic --initial-model whole.f32 --model small-cnn --seed 1"

# The first rank alone fails, between two rounds, while the others wait for it: its folder is gone.
mkdir folder
timeout 60 mpirun -n 2 "${run[@]}" --rounds 100 --seed 5 --state-out folder/state > ends.txt 2>&1 &
launcher=$!
for ((i = 0; i < 600; i++)); do
  [[ ! -s folder/state ]] || break
  sleep 0.02
done
rm -r folder
status=0
wait "${launcher}" || status=$?
if ((status == 0 || status == 124)) || ! grep -q 'sotto: .*folder/state' ends.txt; then
  fail "status ${status} where the state cannot be written" ends.txt
fi

# The page as it stands; its first block is how this build was made, and Slurm is not here.
extract_blocks server/CLUSTER.md blocks
blocks=(blocks/*.sh blocks/*.bash)
[[ "${#blocks[@]}" == 5 ]] || fail 'the page has other blocks than this test knows' <(ls blocks)
grep -q -- '-DSOTTO_WITH_MPI=ON' blocks/1.sh
mkdir -p build/host
ln -s "${bin}" build/host/bin
cp -r "${source_dir}/server" .
for block in blocks/2.sh blocks/3.sh; do bash -e "${block}" > page.txt 2>&1 || fail "${block}" page.txt; done
rm run.state
sed -i -E 's/^srun .*" (build)/mpirun -n 2 \1/' blocks/4.bash
for part in begins 'goes on'; do bash -e blocks/4.bash > page.txt 2>&1 || fail "Slurm's file ${part}" page.txt; done
bash -e blocks/5.sh > page.txt 2>&1 || fail 'an experiment over ranks' page.txt
for name in results.json report.html runs.jsonl; do [[ -s "epsilons/${name}" ]] || fail "no epsilons/${name}"; done
"${bin}/sotto-lab" experiment dp-fed-ls-epsilons --out alone > /dev/null 2>&1
cmp epsilons/results.json alone/results.json || fail 'the report of ranks is another one'
echo 'the page holds'
