#!/usr/bin/env bash
# walks.sh SOURCE_DIR
# The walks of DESIGN.md are as long as they say. Each walk with a line
#   Last added: `word`, in N files of the product.
# names the newest case of its kind by the word that stands in every file that this case took. The test
# counts the files of sdk, ports, server/src and examples that name the word. When a walk grew, mend the
# design before the number. When it shrank, lower the number. A new case takes the place of the last one.
set -euo pipefail
cd "$1"
if ! git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
  echo "skipped: no Git checkout"
  exit 77
fi

status=0 walks=0
while IFS='|' read -r walk word promised; do
  walks=$((walks + 1))
  mapfile -t files < <(git grep -lwF -e "${word}" -- '*.h' '*.cc' '*.inc' '*.proto' | grep -vE '^tests/')
  ((${#files[@]} == promised)) && continue
  echo "DESIGN.md, ${walk}: \`${word}\` stands in ${#files[@]} files, and the page says ${promised}:"
  printf '  %s\n' "${files[@]}"
  status=1
done < <(awk '
  /^### / { walk = substr($0, 5) }
  /^Last added: `/ {
    split($0, part, "`")
    match($0, /in [0-9]+ files of the product/)
    print walk "|" part[2] "|" substr($0, RSTART + 3) + 0
  }' DESIGN.md)

((walks >= 6)) || {
  echo "DESIGN.md has ${walks} walks with a count: is this the page?"
  status=1
}
exit "${status}"
