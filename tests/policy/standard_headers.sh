#!/usr/bin/env bash
# standard_headers.sh SOURCE_DIR
# A source file of the hosts includes the standard headers of the exceptions and algorithms that it
# names, or its own header does. Some standard library finds them elsewhere, and the next one does not.
set -euo pipefail
cd "$1"

{ git ls-files 'server/*.cc' 'server/*.h' 'ports/*.cc' 'ports/*.h' 'tests/*.cc' 'tests/*.h' ||
  find server ports tests -name '*.cc' -o -name '*.h'; } | awk '
  BEGIN {
    pattern["stdexcept"] = "std::(invalid_argument|logic_error|out_of_range|runtime_error)([^a-zA-Z0-9_]|$)"
    pattern["algorithm"] = "std::(all_of|any_of|clamp|copy|copy_if|copy_n|count|count_if|equal|fill|fill_n|find" \
      "|find_if|lower_bound|max|max_element|min|min_element|none_of|remove_if|reverse|search|shuffle|sort" \
      "|transform|unique|upper_bound)\\("
  }
  {
    file = $0
    seen++
    while ((getline line < file) > 0) {
      if (line ~ /^#include </) includes[file] = includes[file] line
      sub(/\/\/.*/, "", line)
      for (header in pattern) {
        if (!((file, header) in named) && match(line, pattern[header])) {
          named[file, header] = substr(line, RSTART, RLENGTH)
        }
      }
    }
    close(file)
  }
  END {
    for (use in named) {
      split(use, at, SUBSEP)
      own = at[1]
      sub(/\.[a-z]+$/, ".h", own)
      if (index(includes[at[1]] includes[own], "<" at[2] ">") > 0) continue
      print at[1] ": names " named[use] " and does not include <" at[2] ">"
      missing++
    }
    if (seen < 50) print "only " seen + 0 " files found: is this the source folder?"
    exit seen < 50 || missing > 0
  }'
