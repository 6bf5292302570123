#!/usr/bin/env bash
# wake_word.sh BUILD_DIR [--small]
# The table of examples/wake_word/README.md: what fleets of 200 and of 2,000 homes learn, with privacy and without, measured
# on voices that are in no home. Needs espeak-ng and 1.5 GB of memory for the samples; --small shows that it runs.
set -euo pipefail
bin="$(cd "$1" && pwd)/bin"
source_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if ! command -v espeak-ng > /dev/null; then
  echo 'skipped: no espeak-ng'
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
cd "${work}"
fleets=(200 2000) rounds=40
[[ "${2-}" != --small ]] || fleets=(40) rounds=2

"${CXX:-c++}" -O2 -std=c++17 -o voices "${source_dir}/examples/wake_word/voices.cc"

# row HOMES EPSILON [OPTION...]: a line of the table. The unseen voices are read in the order of their paths, of each first
# `other`, then `word`: eight seconds and four.
row() {
  "${bin}/sotto" simulate --data sounds/homes:folders=group,label --partition group --devices "$1" --model ds-cnn \
    --test sounds/unseen:folders=group,label --cohort $(($1 / 20)) --rounds "${rounds}" --participations 2 --clip 1 \
    --learning-rate 0.1 --momentum 0.9 --server-optimiser momentum --server-momentum 0.6 --evaluate-every "${rounds}" --seed 1 \
    --model-out model.bin "${@:3}" > simulated.txt
  "${bin}/sotto" model predict model.bin --model ds-cnn --data sounds/unseen:folders=group,label --out scores.csv > /dev/null
  # The threshold above which one second of a hundred without the word lies.
  sed 1d scores.csv | awk -F , '{ print ((NR - 1) % 12 < 8 ? "other" : "word"), $NF }' | sort -k 2,2gr |
    awk -v homes="$1" -v epsilon="$2" \
      -v accuracy="$(sed -n 's/^  accuracy  *\([0-9.]*\) .*/\1/p' simulated.txt)" '
      { is_word[NR] = $1 == "word"; words += is_word[NR] }
      END {
        allowed = int((NR - words) / 100)
        for (i = 1; i <= NR; i++) {
          if (is_word[i]) found++
          else if (++alarms > allowed) break
        }
        printf "| %d | %s | %.3f | %.3f |\n", homes, epsilon, accuracy, found / words
      }'
}

echo '| homes | epsilon | accuracy | words heard at one false alarm in 100 s |'
echo '|---|---|---|---|'
for homes in "${fleets[@]}"; do
  rm -rf sounds
  ./voices --homes "${homes}" --out sounds
  row "${homes}" 8 --epsilon 8 --delta 1e-5
  row "${homes}" none --mechanism none
done
