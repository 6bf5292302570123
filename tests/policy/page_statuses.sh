#!/usr/bin/env bash
# page_statuses.sh SOURCE_DIR PROGRAM...
# The table below a line "| exit status of `COMMAND`, ... |" of a page has the statuses that the help text of
# each of these commands lists, no more and no fewer. Pages list statuses in such tables alone.
# shellcheck disable=SC2016  # Markdown has backquotes
set -euo pipefail
source_dir="$1"
programs=("${@:2}")
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
status=0 tables=0

complain() {
  echo "$1"
  status=1
}

# help_statuses COMMAND: the numbers behind "Exit status: ", in one line.
help_statuses() {
  local words program
  read -ra words <<< "$1"
  for program in "${programs[@]}"; do
    [[ "${program##*/}" == "${words[0]}" ]] || continue
    "${program}" "${words[@]:1}" --help | tr '\n' ' ' | sed -n 's/.*Exit status: //p' | sed 's/\. .*//' |
      grep -oE '(^|[;,] +)[0-9]+ ' | tr -dc '0-9\n' | xargs
  done
}

while IFS= read -r page; do
  file="${source_dir}/${page}"
  ! grep -qE '^(The )?[Ee]xit status(es)?: ' "${file}" || complain "${page}: exit statuses belong in a table"
  while IFS=: read -r line header; do
    tables=$((tables + 1))
    listed="$(sed -n "${line},/^\$/p" "${file}" | sed -nE 's/^\| ([0-9]+) \|.*/\1/p' | xargs)"
    while IFS= read -r command; do
      should="$(help_statuses "${command}")"
      [[ "${listed}" == "${should}" ]] ||
        complain "${page}: line ${line}: ${command} --help lists ${should:-nothing}, the table ${listed}"
    done < <(grep -oE '`[^`]+`' <<< "${header}" | tr -d '`')
  done < <(grep -nE '^\| exit status of ' "${file}" || true)
done < <(list_pages)
((tables >= 3)) || complain "only ${tables} tables of exit statuses found: are these the pages?"
exit "${status}"
