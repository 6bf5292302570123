#!/usr/bin/env bash
# phrases.sh SOURCE_DIR [--update]
# Phrases that make a reader stop are counted in every text that Git tracks: whole words, in upper or lower
# case, also over the end of a line. phrases.txt says how often each file may have each phrase, in lines
# COUNT PHRASE FILE; without a line the file may not have it. The counts only fall:
#   a higher count   fails: rewrite the sentence
#   a lower count    fails until the line is lowered or deleted, which --update does
#   a moved text     --update adds the lines of new names if no phrase has become more frequent in all
#                    files together; it never raises a line
set -euo pipefail
cd "$1"
update="${2:-}"
allowed=tests/policy/phrases.txt
phrases='whoever|that of|those of|tells of|comes by|such a one|of its own|none before|of their own|for so long|be had|is none of'
if ! git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
  echo "skipped: not a Git checkout"
  exit 77
fi

# Prints lines COUNT PHRASE FILE. Indentation and comment signs are no part of a text.
count_phrases() {
  # shellcheck disable=SC2016  # awk has the $
  git ls-files -z -- '*.h' '*.cc' '*.c' '*.inc' '*.md' '*.sh' '*.py' '*.js' '*.html' '*.toml' '*.proto' '*.cmake' '*CMakeLists.txt' \
    ':!tests/policy/phrases.sh' |
    xargs -0 awk -v phrases="${phrases}" '
      function count_file(  n, names, i, copy, count) {
        gsub("[ \t]+", " ", text)
        n = split(phrases, names, "|")
        for (i = 1; i <= n; i++) {
          copy = text " "
          count = gsub("[^a-z0-9_]" names[i] "[^a-z0-9_]", " ", copy)
          if (count > 0) print count, names[i], file
        }
        text = ""
      }
      FNR == 1 { count_file(); file = FILENAME }
      { sub("^[ \t]*(//|#+|>)?", ""); text = text " " tolower($0) }
      END { count_file() }'
}

# Compares phrases.txt with the counts on standard input. Prints what is wrong and fails. Before an update
# only two things are wrong: a line that would rise, and a phrase that has become more frequent altogether.
compare() {
  # shellcheck disable=SC2016
  awk -v update="${update}" -v list="${allowed}" '
    function complain(text) { print text; failed = 1 }
    { phrase = $2; for (i = 3; i < NF; i++) phrase = phrase " " $i; key = phrase " " $NF }
    FILENAME == list { most[key] = $1; total[phrase] += $1; next }
    { count[key] = $1; total[phrase] -= $1 }
    $1 > most[key] + 0 && (!update || most[key] > 0) {
      complain($NF ": \"" phrase "\" " $1 " times, at most " most[key] + 0 ": rewrite the sentence")
    }
    END {
      for (key in most)
        if (!update && count[key] < most[key])
          complain(list ": " (count[key] ? "lower to " count[key] : "delete") ": " most[key] " " key)
      for (phrase in total)
        if (update && total[phrase] < 0)
          complain("\"" phrase "\" " (-total[phrase]) " times more than before, in all files together")
      exit failed
    }' "${allowed}" -
}

counts="$(count_phrases)"
if ! compare <<< "${counts}"; then
  [[ -n "${update}" ]] || echo "For lower counts and moved files: tests/policy/phrases.sh . --update"
  exit 1
fi
[[ "${update}" != --update ]] || printf '%s\n' "${counts}" > "${allowed}"
