#!/usr/bin/env bash
# page_session.sh SOURCE_DIR WORK_DIR BIN_DIR PAGE [PYTHON-MODULE...]
# Plays a page that needs no server: its files are written into one folder, then its bash blocks run there in
# their order. Skipped, 77, without Python or one of the modules that its scripts import.
set -euo pipefail
source_dir="$1" bin="$3" page="$4"
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"

export PATH="/usr/bin:${PATH}"  # Debian's Python, which has Debian's modules
for module in sys "${@:5}"; do
  python3 -c "import ${module}" 2> /dev/null || {
    echo "skipped: python3 lacks ${module} (package python3-${module})"
    exit 77
  }
done

write_page_files "${page}" blocks || {
  echo "FAILED: ${page} has a model file without a name"
  exit 1
}
played=0
while IFS= read -r block; do
  play_commands "$(cat "${block}")" "${bin}" || exit 1
  cat output.txt
  played=$((played + 1))
done < <(find blocks -name '*.bash' | sort -V)
if ((played == 0)); then
  echo "FAILED: ${page} has no bash block"
  exit 1
fi
