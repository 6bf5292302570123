#!/usr/bin/env bash
# models_table.sh SOURCE_DIR SOTTO [--update]
# The table "What fits on which board" of server/MODELS.md has the figures of `sotto model show`. With --update
# they are written anew, and then the other pages' copies of them (page_numbers.sh). Which models stand in the
# table, and its last column, are the page's.
# shellcheck disable=SC2016  # Markdown has backquotes
set -euo pipefail
source_dir="$1" sotto="$2"
page="${source_dir}/server/MODELS.md"
status=0 rows=0

# figures MODEL: "| parameters | vectors | workspace |" in float32.
figures() {
  "${sotto}" model show "$1" | awk '
    $1 == "parameters" { sub(/,$/, "", $2); parameters = $2 }
    /^on a device/ { device++ }
    device == 1 && $1 == "model" { vectors = $4 }
    device == 1 && $1 == "workspace" { workspace = $2 }
    END { print "| " parameters " | " vectors " | " workspace " |" }'
}

while IFS= read -r row; do
  rows=$((rows + 1))
  model="$(cut -d '`' -f 2 <<< "${row}")"
  should="| \`${model}\` $(figures "${model}") $(sed -E 's/.*\| ([^|]*) \|$/\1 |/' <<< "${row}")"
  [[ "${row}" != "${should}" ]] || continue
  if [[ "${3-}" == --update ]]; then
    sed -i "s#^| \`${model}\` .*#${should}#" "${page}"
  else
    printf 'server/MODELS.md: sotto model show %s has other figures:\n- %s\n+ %s\n' "${model}" "${row}" "${should}"
    status=1
  fi
done < <(sed -n '/^<!-- models -->/,/^$/{ /^| `/p; }' "${page}")
((rows > 3)) || {
  echo "server/MODELS.md: no table of models"
  status=1
}
[[ "${3-}" != --update ]] || bash "$(dirname "${BASH_SOURCE[0]}")/page_numbers.sh" "${source_dir}" --update
exit "${status}"
