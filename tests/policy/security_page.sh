#!/usr/bin/env bash
# security_page.sh SOURCE_DIR WORK_DIR
# Each invariant of server/SECURITY.md is named by a test, and tests name no other ones.
set -euo pipefail
source_dir="$1" work="$2"
mkdir -p "${work}"
sed -nE 's/^- \*\*(S[0-9]+)\.\*\*.*/\1/p' "${source_dir}/server/SECURITY.md" | sort > "${work}/page"
uniq -d "${work}/page" > "${work}/twice"
grep -rhoE 'SECURITY\.md S[0-9]+' "${source_dir}/tests" --include='*.cc' --include='*.sh' |
  sed 's/.* //' | sort -u > "${work}/tests"
status=0
report() { # report FILE WORDS
  [[ -s "$1" ]] || return 0
  echo "server/SECURITY.md: $2: $(tr '\n' ' ' < "$1")"
  status=1
}
comm -23 "${work}/page" "${work}/tests" > "${work}/untested"
comm -13 "${work}/page" "${work}/tests" > "${work}/unknown"
report "${work}/twice" 'a number stands twice'
report "${work}/untested" 'no test names'
report "${work}/unknown" 'tests name what the page does not have'
[[ -s "${work}/page" ]] || {
  echo 'server/SECURITY.md: no invariants found'
  status=1
}
exit "${status}"
