#!/usr/bin/env bash
# vibration.sh SOURCE_DIR WORK_DIR BIN_DIR
# The walk of examples/vibration/README.md, block after block, as it stands there: only the port and the
# folders of sources and programs are changed. A fleet is simulated, a threshold found, a board raises the alarm;
# then a server, five Linux machines that record and a board train together.
# Skipped, 77, where a compiler or an emulator for Cortex-M is missing; what needs none is played first.
set -euo pipefail
source_dir="$1" bin="$3"
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
# shellcheck source-path=SCRIPTDIR source=../device/build.sh
source "${source_dir}/tests/device/build.sh"
page=examples/vibration/README.md

fail() {
  echo "FAILED: $*"
  exit 1
}

write_page_files "${page}" blocks || fail "${page} has a model file without a name"
bash_blocks=()
missing="$(cd "${source_dir}" && missing_for cortex-m4)"
while IFS= read -r block; do
  case "${block}" in
    *.console) play_console "${block}" "${bin}" || exit 1 ;;
    *.bash)
      bash_blocks+=("${block}")
      case "${#bash_blocks[@]}" in
        1 | 2) play_commands "$(cat "${block}")" "${bin}" || exit 1 ;;
        3 | 4)
          [[ -z "${missing}" ]] || continue
          play_commands "$(cat "${block}")" "${bin}" || exit 1
          ((${#bash_blocks[@]} == 4)) || tail -n 1 output.txt
          ;;
      esac
      ;;
  esac
done < <(find blocks -type f | sort -V)
((${#bash_blocks[@]} == 8)) || fail "${page} has other blocks"
if [[ -n "${missing}" ]]; then
  echo "skipped: the board: no ${missing//$'\n'/, no }"
  exit 77
fi

# Terminals of server, machines and board; the board is switched off when the machines are through.
cp "${bash_blocks[4]}" server.sh
{
  sed '$s/$/ \&/' "${bash_blocks[6]}"
  cat "${bash_blocks[5]}"  # its last command also waits for the board
} > devices.sh
play_session server.sh devices.sh "${bin}" || exit 1
(($(grep -c 'released: 6 of 6 reported' server.txt) == 8)) || fail "$(cat server.txt)"
play_commands "$(cat "${bash_blocks[7]}")" "${bin}" || exit 1
cat output.txt
