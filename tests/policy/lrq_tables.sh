#!/usr/bin/env bash
# lrq_tables.sh SOURCE_DIR WORK_DIR
# The tables of the Gau-LRQ layer are what their generator writes. Skipped, 77, without mpmath.
set -euo pipefail
tables="$1/sdk/src/lrq/layer_tables.inc"
written="$2/layer_tables.inc"
if ! /usr/bin/python3 -c 'import mpmath' 2> /dev/null; then
  echo "skipped: /usr/bin/python3 has no mpmath (package python3-mpmath)"
  exit 77
fi
mkdir -p "$2"
rm -f "${written}"
"$1/sdk/src/lrq/generate_tables.py" "${written}"
diff -u "${tables}" "${written}"
