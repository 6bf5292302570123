#!/usr/bin/env bash
# toml_files.sh SOURCE_DIR WORK_DIR
# All TOML files of the project, and all blocks of the pages in that language, are TOML 1.0: Python reads
# them. Exits with 77, skipped, where python3 has no tomllib (before 3.11).
set -euo pipefail
source_dir="$1" work="$2"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
rm -rf "${work}"
mkdir -p "${work}"

python3 -c 'import tomllib' 2> "${work}/import.txt" || {
  echo "skipped: no tomllib ($(tail -n 1 "${work}/import.txt"))"
  exit 77
}

while IFS= read -r page; do
  extract_blocks "${page}" "${work}/${page//\//_}" || {
    echo "${page}: a fence is not closed"
    exit 1
  }
done < <(list_pages)

python3 - "${source_dir}" "${work}" << 'END'
import pathlib
import sys
import tomllib

source, work = map(pathlib.Path, sys.argv[1:])
folders = ("sdk", "ports", "server", "examples", "toolchains", "tests")
files = [path for folder in folders for path in sorted((source / folder).rglob("*.toml"))]
blocks = sorted(work.rglob("*.toml"))
bad = 0
for path in files + blocks:
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{path}: {error}")
        bad += 1
print(f"{len(files)} files and {len(blocks)} blocks read, {bad} of them no TOML")
sys.exit(bad > 0 or len(files) < 30 or len(blocks) < 8)
END
