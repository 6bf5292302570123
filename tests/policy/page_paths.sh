#!/usr/bin/env bash
# page_paths.sh SOURCE_DIR WORK_DIR
# The paths and links of the pages lead somewhere.
#   - The target of a link exists, seen from its page; an anchor is a heading of the page it leads to.
#   - A path in backquotes that begins with a top folder exists, seen from the source folder. build/ is
#     what commands write. In DESIGN.md that holds for every word, and a * stands for any name.
#   - The tables of folders in DESIGN.md have the folders of sdk/src and server/src, in the order that
#     policy.layering checks.
#   - README.md links INDEX.md, and INDEX.md each other page of the project.
# shellcheck disable=SC2016  # the pages have the backquotes
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

# For each page, its prose, which is what stands outside fenced blocks: "anchor PAGE ANCHOR" of each heading, as GitHub
# makes them; "link PAGE TARGET FILE ANCHOR" of each link within the project, where FILE is the target seen from the
# source folder and ANCHOR may be empty; "path PAGE PATH" of each path in backquotes.
list_targets() {
  awk '
    function whole(path,    part, count, i, kept, text) {
      count = split(path, part, "/")
      kept = 0
      for (i = 1; i <= count; i++) {
        if (part[i] == "" || part[i] == ".") continue
        if (part[i] == ".." && kept > 0 && part[kept] != "..") kept--
        else part[++kept] = part[i]
      }
      for (i = 1; i <= kept; i++) text = text (i > 1 ? "/" : "") part[i]
      return text == "" ? "." : text
    }
    function tell(    text, found, file, anchor, folder) {
      folder = page
      if (!sub("/[^/]*$", "", folder)) folder = "."
      text = prose
      while (match(text, /\]\([^) ]+\)/)) {
        found = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        if (found ~ /^[a-z]+:\/\//) continue
        file = anchor = found
        sub(/#.*/, "", file)
        if (!sub(/^[^#]*#/, "", anchor)) anchor = ""
        print "link", page, found, (file == "" ? page : whole(folder "/" file)), anchor
      }
      text = prose
      while (match(text, /`(sdk|ports|server|examples|tests|toolchains)\/[A-Za-z0-9_.\/*-]*`/)) {
        found = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        if (page != "DESIGN.md" && !((page, found) in told)) print "path", page, found
        told[page, found]
      }
    }
    FNR == 1 { if (page != "") tell(); page = FILENAME; prose = ""; inside = 0 }
    /^```/ { inside = !inside; next }
    inside { next }
    { prose = prose $0 " " }
    /^#+ / {
      anchor = tolower($0)
      sub(/^#+ +/, "", anchor)
      gsub(/[^a-z0-9 _-]/, "", anchor)
      gsub(/ /, "-", anchor)
      print "anchor", page, anchor
    }
    END { tell() }' "$@"
}

check_path() {
  compgen -G "$1" > /dev/null || complain "there is no $1"
}

mapfile -t pages < <(list_pages)
list_targets "${pages[@]}" > "${work}/targets"
declare -A headings=()
while read -r _ page anchor; do
  headings["${page}#${anchor}"]=1
done < <(grep '^anchor ' "${work}/targets")

links=0
while read -r _ page target file anchor; do
  links=$((links + 1))
  if [[ ! -e "${file}" ]]; then
    complain "the link leads nowhere: ${target}"
  elif [[ -n "${anchor}" && -z "${headings["${file}#${anchor}"]-}" ]]; then
    complain "${file} has no heading for #${anchor}"
  fi
done < <(grep '^link ' "${work}/targets")
awk '$1 == "link" && $4 ~ /[.]md$/ { print $2, $4 }' "${work}/targets" > "${work}/links"
((links > 40)) || {
  echo "only ${links} links found: is this the source folder?"
  status=1
}
while read -r _ page path; do
  check_path "${path}"
done < <(grep '^path ' "${work}/targets")

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
    complain "the folders of ${side}/src differ from the list in tests/policy/layering.sh (above, <)"
done

# The first page has few doors; the index has them all.
grep -qxF 'README.md INDEX.md' "${work}/links" || {
  page=README.md
  complain "it does not link INDEX.md"
}
while IFS= read -r page; do
  [[ "${page}" == INDEX.md ]] || grep -qxF -e "INDEX.md ${page}" "${work}/links" || complain "INDEX.md does not have this page"
done < <(list_pages)
exit "${status}"
