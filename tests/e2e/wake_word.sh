#!/usr/bin/env bash
# wake_word.sh SOURCE_DIR WORK_DIR BIN_DIR
# The walk of examples/wake_word/README.md, block after block, as it stands there: only the port and the folders of sources
# and programs are changed. Voices are made up, a fleet learns a word in simulation, then a server, five Linux machines and a
# board go on; the board fetches the final model into its flash, and its second firmware hears the word in a stream.
# Skipped, 77, without espeak-ng or libsndfile, or where a compiler or an emulator for Cortex-M is missing; what needs none of
# the latter is played first.
set -euo pipefail
source_dir="$1" bin="$3"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"
page=examples/wake_word/README.md

fail() {
  echo "FAILED: $*"
  exit 1
}

if ! command -v espeak-ng > /dev/null; then
  echo 'skipped: no espeak-ng'
  exit 77
fi
rm -rf "$2"
mkdir -p "$2"
cd "$2"

extract_blocks "${page}" blocks || fail "${page} has a fence that is not closed"
mapfile -t blocks < <(find blocks -type f -name '*.bash' | sort -V)
((${#blocks[@]} == 8)) || fail "${page} has other blocks"

play() { play_commands "$(cat "${blocks[$1]}")" "${bin}" || exit 1; }

play 0
cp -r sounds first
play_commands "./voices --word 'okay sotto' --homes 3 --out again" "${bin}" || exit 1
for home in again/homes/*; do diff -r "${home}" "first/homes/${home##*/}" || fail "another seed 1"; done
# The whispers of espeak-ng 1.52 (Debian 13) are noise that it draws anew each second.
whisper() { espeak-ng -v en+whisper --stdout 'okay sotto'; }
unseen=()
cmp -s <(whisper) <(sleep 2 && whisper) || {
  echo 'NOT TESTED: whispers, which this espeak-ng does not repeat'
  unseen=(--exclude 'whisper-*')
}
diff -r "${unseen[@]}" again/unseen first/unseen || fail "the unseen voices depend on the number of homes"
if ! "${bin}/sotto" data show sounds/homes:folders=group,label > shown.txt 2>&1; then
  grep -q 'libsndfile' shown.txt || fail "$(cat shown.txt)"
  echo 'skipped: built without libsndfile'
  exit 77
fi
play 1
play 2
accuracy="$(sed -n 's/^  accuracy  *\([0-9.]*\) .*/\1/p' output.txt)"
awk -v accuracy="${accuracy}" 'BEGIN { exit accuracy < 0.85 }' || fail "unseen voices: $(cat output.txt)"
echo "unseen voices: ${accuracy}"

missing="$(cd "${source_dir}" && missing_for cortex-m7)"
if [[ -n "${missing}" ]]; then
  echo "skipped: the board: no ${missing//$'\n'/, no }"
  exit 77
fi
play 3

# await FILE TEXT PROCESS: until the file has the text.
await() {
  for ((i = 0; i < 1200; i++)); do
    ! grep -qs -e "$2" "$1" || return 0
    kill -0 "$3" 2> /dev/null || break
    sleep 0.1
  done
  fail "no \"$2\": $(cat "$1")"
}

started=()
trap 'kill "${started[@]}" 2> /dev/null || true' EXIT
sed -i -e 's#^build/host/bin/sotto serve #exec &--listen 127.0.0.1:0 --port-file port #' -e "s#build/host/bin/#${bin}/#" \
  "${blocks[4]}"
bash -e "${blocks[4]}" > server.txt 2>&1 &
started=($!)
for ((i = 0; i < 300; i++)); do
  [[ ! -s port ]] || break
  sleep 0.1
done
[[ -s port ]] || fail "the server does not listen: $(cat server.txt)"
sed -i -E -e "s#build/host/bin/#${bin}/#" -e "s#(127.0.0.1:|host=127.0.0.1,port=)7177#\\1$(cat port)#" \
  -e 's#^qemu-system-arm #exec &#' "${blocks[5]}" "${blocks[6]}"
bash -e "${blocks[6]}" > board.txt 2>&1 &
started+=($!)
bash -e "${blocks[5]}" > clients.txt 2>&1 || fail "the Linux machines: $(cat clients.txt)"
await board.txt 'the released model in flash: .*, round 3, final' "${started[1]}"
await board.txt ' of 12 are right' "${started[1]}"
kill "${started[@]}"
wait "${started[@]}" 2> /dev/null || true
(($(grep -c 'released: 6 of 6 reported' server.txt) == 3)) || fail "$(cat server.txt)"
tail -n 1 board.txt

# A word is heard if a window says so that begins at most a second before or after it. Of the three one may be missed, and
# one sound taken for the word.
play 7
cat output.txt
grep ' s: the word$' output.txt | cut -d ' ' -f 1 > heard.txt || true
sed -n 's/,okay sotto$//p' rooms/stream.csv > spoken.txt
awk '
  FNR == NR { spoken[++words] = $1; next }
  {
    is_word = 0
    for (i = 1; i <= words; i++) if ($1 > spoken[i] - 1 && $1 < spoken[i] + 1) { is_word = 1; heard[i] = 1 }
    alarms += !is_word
  }
  END { exit words != 3 || length(heard) < 2 || alarms > 1 }' spoken.txt heard.txt || fail "the board hears something else"
