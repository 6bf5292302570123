#!/usr/bin/env bash
# your_data.sh SOURCE_DIR WORK_DIR BIN_DIR
# The walk of server/YOUR_DATA.md, block after block, as it stands there: its files are written, its commands
# run in one folder, and the lines of a console block are lines of the real output. Only the port and the
# folders of sources and programs are changed. Then what the page says of its live fleet holds: the log has
# the evaluations, `sotto model evaluate` agrees with the last of them, the model has learned, exports
# are there, and the board finds the classes that `sotto model predict` found.
# Skipped, 77, without Python; without a compiler or an emulator for Cortex-M the rest of the page is followed
# first.
set -euo pipefail
source_dir="$1" bin="$3"
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"
page=server/YOUR_DATA.md

if ! command -v python3 > /dev/null; then
  echo "skipped: no python3"
  exit 77
fi

fail() {
  echo "FAILED: $*"
  exit 1
}

# The accuracy in the last line of a file that has one.
accuracy() { sed -nE 's/.*accuracy ([0-9.]+), loss .*/\1/p' "$1" | tail -n 1; }

check_fleet() {
  local round
  for round in 5 10 15 20; do
    grep -qE "round ${round}/20 evaluated: accuracy [0-9.]+, loss [0-9.]+; 180 samples of test.csv; by class rest " \
      server.txt || fail "the log lacks the evaluation of round ${round}: $(cat server.txt)"
  done
  grep -q 'all 20 rounds of the plan are released$' server.txt || fail "$(cat server.txt)"
  # Noise without a seed. 200 simulations have 0.878 on average, a deviation of 0.045 and at least 0.766; a guess
  # has 0.33. Were they normally distributed, a run would fail once in 10^12.
  awk -v found="$(accuracy server.txt)" 'BEGIN { exit !(found > 0.55) }' || fail "$(cat server.txt)"
}

check_exports() {
  "${bin}/sotto" model evaluate activity.safetensors --model activity.toml \
    --data test.csv:label=activity,group=user,window=16 > evaluated.txt
  [[ "$(accuracy evaluated.txt)" == "$(accuracy server.txt)" ]] ||
    fail "evaluate says $(accuracy evaluated.txt), the server $(accuracy server.txt)"
  [[ -s activity.onnx && -s activity.h ]]
  head -n 1 classes.csv | grep -qxF 'class,class_name,probability rest,probability walk,probability run' ||
    fail "$(head -n 1 classes.csv)"
  [[ "$(head -n 3 classes.csv)" == "$(tail -n 3 output.txt)" ]] || fail "the head of classes.csv"
  (($(wc -l < classes.csv) == 181)) || fail "classes.csv has not 180 samples"
  (($(sed 1d classes.csv | cut -d , -f 1 | sort -u | wc -l) > 1)) || fail "one class for all samples shows nothing"
}

write_page_files "${page}" blocks || fail "a model file without a name"
sessions=0
while IFS= read -r block; do
  case "${block}" in
    *.console) play_console "${block}" "${bin}" || exit 1 ;;
    *.sh) play_commands "$(cat "${block}")" "${bin}" || exit 1 ;;
    *.bash)
      sessions=$((sessions + 1))
      cp "${block}" "session${sessions}.sh"
      if ((sessions == 2)); then
        play_session session1.sh session2.sh "${bin}" || exit 1
        check_fleet
      fi
      ;;
  esac
done < <(find blocks -type f | sort -V)
((sessions == 3)) || fail "${page} has not the sessions of server, devices and board"
check_exports

missing="$(cd "${source_dir}" && missing_for cortex-m4)"
if [[ -n "${missing}" ]]; then
  echo "skipped: the board: no ${missing//$'\n'/, no }"
  exit 77
fi
play_commands "$(cat session3.sh)" "${bin}" || exit 1
tail -n 1 output.txt | grep -qxF 'the same 180 classes' || fail "$(tail -n 30 output.txt)"
(($(wc -l < board.txt) == 180)) || fail "board.txt has not 180 classes"
echo "${page}: accuracy $(accuracy server.txt), the same 180 classes on the board and on the server"
