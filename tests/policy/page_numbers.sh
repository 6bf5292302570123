#!/usr/bin/env bash
# page_numbers.sh SOURCE_DIR [--update]
# No measured number of a page goes stale: sizes, times, instructions, and accuracies (four digits behind "0.") stand
#   - in a table below a line <!-- NAME -->, which a script of tests/ writes and a test compares; or
#     <!-- record: COMMAND, ... -->, what a command measured once on one machine, which the page names;
#   - behind a marker, NUMBER<!-- NAME / KEY / ... / COLUMN -->: the cell of such a table in the row that
#     begins with these keys. With " kB" behind the marker it is the cell divided by 1,000. --update writes
#     these numbers anew;
#   - in an example, fenced or indented: other tests run those, or compare them;
#   - in page_numbers.txt, with the file that fixes it: a limit, a setting, a target.
# The pages of server/experiments are left out: a program prints them, and a test compares.
# shellcheck disable=SC2016  # Markdown has backquotes
set -euo pipefail
source_dir="$1"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
list="$(realpath "$(dirname "${BASH_SOURCE[0]}")")/page_numbers.txt"
cd "${source_dir}"
mapfile -t pages < <(list_pages)
status=0

complain() {
  echo "$1"
  status=1
}

# Lines "NAME|CELL|CELL...": the header and the rows of all tables below a marker.
tables="$(awk '
  FNR == 1 { name = "" }
  /^<!-- .* -->$/ { name = $0; gsub(/^<!-- | -->$|,.*/, "", name); next }
  !NF { name = "" }
  name != "" && /^\|/ && !/^\|-/ {
    gsub(/ *\| */, "|")
    print name $0
  }' "${pages[@]}")"

# page_numbers PAGE CHANGE: a line for each thing that is wrong; with CHANGE 1 the page with its marked
# numbers as the tables have them.
page_numbers() {
  awk -F '|' -v page="$1" -v change="$2" '
    FILENAME == "-" && FNR == NR { row[++rows] = $0; next }
    FILENAME ~ /page_numbers\.txt$/ {
      if ($1 == page " ") allowed[substr($2, 2, length($2) - 2)]
      next
    }

    # The cell that a marker names, or "".
    function cell(marker,    key, keys, i, k, n, field, column) {
      keys = split(marker, key, " / ")
      for (i = 1; i <= rows; i++) {
        n = split(row[i], field, "|")
        if (field[1] != key[1]) continue
        if (!(key[1] in width) || is_header[i]) { width[key[1]] = n; is_header[i] = 1; header[key[1]] = row[i]; continue }
        for (k = 2; k < keys && field[k] == key[k]; k++) {}
        if (k < keys) continue
        split(header[key[1]], column, "|")
        for (k = 2; k < n; k++) if (column[k] == key[keys]) return field[k]
      }
      return ""
    }

    # 76844 as "76,844", or as the model `like` in thousands, "76.8".
    function written(value, is_kb, like,    decimals) {
      if (is_kb) {
        decimals = index(like, ".") ? length(like) - index(like, ".") : 0
        return sprintf("%.*f", decimals, value / 1000)
      }
      while (value ~ /[0-9][0-9][0-9][0-9](,|$)/) sub(/[0-9][0-9][0-9](,|$)/, ",&", value)
      return value
    }

    function wrong(text) { if (!change) print page ": line " FNR ": " text }

    # The line, whose marked numbers are compared and then left out of `rest`.
    function marked(line,    done, at, number, marker, value, is_kb) {
      rest = ""
      while (match(line, /[0-9][0-9,.]*<!-- [^>]* -->/)) {
        number = substr(line, RSTART, RLENGTH)
        marker = number
        sub(/<!--.*/, "", number)
        gsub(/^.*<!-- | -->$/, "", marker)
        rest = rest substr(line, 1, RSTART - 1)
        done = done substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        is_kb = line ~ /^ kB/
        value = cell(marker)
        gsub(/,|[^0-9.]+$/, "", value)
        if (value == "") wrong("no table has the cell of the marker: " marker)
        else if (written(value, is_kb, number) != number) {
          wrong(number " is " written(value, is_kb, number) " in the table: " marker)
          number = written(value, is_kb, number)
        }
        done = done number "<!-- " marker " -->"
      }
      rest = rest line
      return done line
    }

    /^```/ { fenced = !fenced }
    /^<!-- / { below = 1 }
    !NF { below = 0 }
    { line = fenced ? $0 : marked($0) }
    change { print line; next }
    fenced || below || /^    / { next }
    {
      text = page ~ /^server.experiments./ ? "" : rest
      while (match(text, /(^|[^0-9.])0[.][0-9][0-9][0-9][0-9]([^0-9]|$)/)) {
        hit = substr(text, RSTART, RLENGTH)
        gsub(/[^0-9.]|[.]$/, "", hit)
        if (!(hit in allowed)) wrong("an accuracy, or another measurement, without a table or line in page_numbers.txt: " hit)
        text = substr(text, RSTART + RLENGTH - 1)
      }
      while (match(rest, /[0-9][0-9.,]*( |-)([kKMG]i?B|ms|us|µs|ns|(million )?instructions)([^A-Za-z]|$)|[0-9],[0-9][0-9][0-9] bytes|[0-9][0-9][0-9][0-9] bytes/)) {
        hit = substr(rest, RSTART, RLENGTH)
        sub(/[^A-Za-z]$/, "", hit)
        if (!(hit in allowed)) wrong("a number without a marker, table or line in page_numbers.txt: " hit)
        rest = substr(rest, RSTART + RLENGTH)
      }
    }' - "${list}" "$1" <<< "${tables}"
}

for page in "${pages[@]}"; do
  if [[ "${2-}" == --update ]]; then
    page_numbers "${page}" 1 > "${page}.new"
    cmp -s "${page}" "${page}.new" || cp "${page}.new" "${page}"
    rm "${page}.new"
  fi
  wrong="$(page_numbers "${page}" 0)"
  [[ -z "${wrong}" ]] || complain "${wrong}"
done

# A table that a script writes or compares names that script's marker.
while IFS= read -r name; do
  case "${name}" in
    'record: '*) ;;
    *) grep -rqF -e "${name}" tests --include='*.sh' || complain "no script of tests/ has the table ${name}" ;;
  esac
done < <(cut -d '|' -f 1 <<< "${tables}" | sort -u)
(($(cut -d '|' -f 1 <<< "${tables}" | sort -u | wc -l) >= 8)) || complain "the tables of the pages are not found"

# What fixes the other numbers is still there.
while IFS='|' read -r page hit file text; do
  [[ -n "${page}" && "${page}" != '#'* ]] || continue
  page="${page% }" hit="${hit:1:-1}" file="${file:1:-1}" text="${text# }"
  grep -qF -e "${hit}" "${page}" || complain "page_numbers.txt: ${page} does not say ${hit}"
  [[ "${file}" == - ]] || grep -qF -e "${text}" "${file}" ||
    complain "page_numbers.txt: ${page}: ${hit}: ${file} does not have: ${text}"
done < "${list}"
exit "${status}"
