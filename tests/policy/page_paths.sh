#!/usr/bin/env bash
# page_paths.sh SOURCE_DIR WORK_DIR
# The paths and links of the pages lead somewhere.
#   - The target of a link exists, seen from its page; an anchor is a heading of the page it leads to.
#   - A path in backquotes that begins with a top folder exists, seen from the source folder. build/ is
#     what commands write. In DESIGN.md that holds for every word, and a * stands for any name.
#   - The tables of folders in DESIGN.md have the folders of sdk/src and server/src, in the order that
#     policy.layering checks.
#   - Each page of the project can be reached from README.md.
# shellcheck disable=SC2016  # the backquotes are those of the pages
set -euo pipefail
source_dir="$1" work="$2"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
rm -rf "${work}"
mkdir -p "${work}"
status=0
cd "${source_dir}"

complain() {
  echo "${page}: $1"
  status=1
}

# The page without its fenced blocks.
prose() { awk '/^```/ { inside = !inside; next } !inside' "$1"; }

# The anchors of a page's headings, as GitHub makes them.
anchors() {
  prose "$1" | sed -nE 's/^#+ +//p' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_link() {
  local target="${1%%#*}" anchor='' file
  [[ "$1" != *#* ]] || anchor="${1#*#}"
  file="$(realpath -m --relative-to=. "$(dirname "${page}")/${target}")"
  [[ -n "${target}" ]] || file="${page}"
  if [[ ! -e "${file}" ]]; then
    complain "the link leads nowhere: $1"
  elif [[ -n "${anchor}" ]] && ! anchors "${file}" | grep -qxF -e "${anchor}"; then
    complain "${file} has no heading for #${anchor}"
  fi
  [[ "${file}" != *.md ]] || echo "${page} ${file}" >> "${work}/links"
}

check_path() {
  compgen -G "$1" > /dev/null || complain "there is no $1"
}

links=0
while IFS= read -r page; do
  while IFS= read -r target; do
    links=$((links + 1))
    check_link "${target}"
  done < <(prose "${page}" | tr '\n' ' ' | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\(|\)$//g' |
    grep -vE '^[a-z]+://' || true)
  [[ "${page}" != DESIGN.md ]] || continue  # all of its paths below
  while IFS= read -r path; do
    check_path "${path}"
  done < <(prose "${page}" | tr '\n' ' ' |
    grep -oE '`(sdk|ports|server|examples|tests|toolchains)/[A-Za-z0-9_./*-]*`' | tr -d '`' | sort -u || true)
done < <(list_pages)
((links > 40)) || {
  echo "only ${links} links found: is this the source folder?"
  status=1
}

# The map: also what stands outside backquotes. A file that a walk adds is not there yet: it has NAME in
# its name.
page=DESIGN.md
while IFS= read -r path; do
  check_path "${path}"
done < <(grep -oE '(^|[^A-Za-z0-9_./-])(sdk|ports|server|examples|tests|toolchains)/[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*' \
  DESIGN.md | grep -oE '(sdk|ports|server|examples|tests|toolchains)/.*' | sed -E 's/[.]$//' | grep -v NAME | sort -u || true)

for side in sdk server; do
  diff <(sed -nE "s/.*rank_folders\\(\"${side}\", \"([^\"]*)\"\\).*/\\1/p" tests/policy/layering.sh | tr ' ' '\n' |
    while IFS= read -r room; do [[ ! -d "${side}/src/${room}" ]] || echo "${room}"; done) \
    <(sed -n "/^| in .${side}.src.. | |\$/,/^\$/p" DESIGN.md | sed -nE 's/^\| `([a-z]+)` .*/\1/p') ||
    complain "the folders of ${side}/src are not those of tests/policy/layering.sh (above, <)"
done

# README.md, and what it leads to, again and again.
echo README.md > "${work}/reached"
for _ in 1 2 3 4; do
  awk 'NR == FNR { reached[$1]; next } $1 in reached { print $2 }' "${work}/reached" "${work}/links" |
    sort -u - "${work}/reached" -o "${work}/reached"
done
while IFS= read -r page; do
  grep -qxF -e "${page}" "${work}/reached" || complain "no way leads here from README.md"
done < <(list_pages)
exit "${status}"
