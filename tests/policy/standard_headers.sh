#!/usr/bin/env bash
# standard_headers.sh SOURCE_DIR
# A source file of the hosts includes the standard headers of the exceptions and algorithms that it
# names, or its own header does. Some standard library finds them elsewhere, and the next one does not.
set -euo pipefail
cd "$1"

missing=0
seen=0
while read -r file; do
  seen=$((seen + 1))
  code="$(sed 's|//.*||' "${file}")"
  own="${file%.*}.h"
  includes="$(cat "${file}" "${own}" 2> /dev/null | grep '^#include <' || true)"
  # need HEADER PATTERN
  need() {
    if grep -qE "$2" <<< "${code}" && ! grep -qF "<$1>" <<< "${includes}"; then
      echo "${file}: names $(grep -oE "$2" <<< "${code}" | head -n 1) and does not include <$1>"
      missing=$((missing + 1))
    fi
  }
  need stdexcept 'std::(invalid_argument|logic_error|out_of_range|runtime_error)\b'
  need algorithm 'std::(all_of|any_of|clamp|copy|copy_if|copy_n|count|count_if|equal|fill|fill_n|find|find_if|lower_bound|max|max_element|min|min_element|none_of|remove_if|reverse|search|shuffle|sort|transform|unique|upper_bound)\('
done < <(git ls-files 'server/*.cc' 'server/*.h' 'ports/*.cc' 'ports/*.h' 'tests/*.cc' 'tests/*.h' ||
  find server ports tests -name '*.cc' -o -name '*.h')

if ((seen < 50)); then
  echo "only ${seen} files found: is this the source folder?"
  exit 1
fi
exit $((missing > 0))
