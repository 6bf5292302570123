#!/usr/bin/env bash
# protocol_tables.sh SOURCE_DIR WORK_DIR
# The tables of server/PROTOCOL.md are those of the code: fields by number, name, type and size of
# byte fields (sotto.proto, sotto.options), values of enumerations (sotto.proto), error codes
# (messages.h).
set -euo pipefail
source_dir="$1" work="$2"
mkdir -p "${work}"
wire="${source_dir}/sdk/src/wire"

# Lines "MESSAGE NUMBER NAME TYPE LIMIT" and "ENUM VALUE NAME".
sed 's/`//g' "${source_dir}/server/PROTOCOL.md" | awk -F ' *[|] *' '
  /^### / { name = substr($0, 5); kind = "" }
  /^\| number \|/ { kind = "fields" }
  /^\| value \|/ { kind = "values" }
  $2 !~ /^[0-9]+$/ { next }
  kind == "fields" { print name, $2, $3, $4, $4 == "bytes" ? $5 : "-" }
  kind == "values" { print name, $2, $3 }' | sort > "${work}/page"

{
  awk '
    FILENAME ~ /options$/ {
      if ($1 !~ /^sotto\.[A-Za-z]+\.[a-z_]+$/) next
      limit = "the frame"
      if (match($0, /max_size:[0-9]+/)) {
        limit = (/fixed_length:true/ ? "exactly " : "1 to ") substr($0, RSTART + 9, RLENGTH - 9)
      }
      limits[substr($1, 7)] = limit
      next
    }
    { sub("//.*", ""); sub(";", "") }
    $1 == "message" || $1 == "enum" { name = $2; kind = $1; next }
    kind == "message" && $3 == "=" {
      print name, $4, $2, $1, $1 == "bytes" ? limits[name "." $2] : "-"
    }
    kind == "enum" && $2 == "=" { print name, $3, $1 }' "${wire}/sotto.options" "${wire}/sotto.proto"
  awk '
    /^enum class ErrorCode/ { inside = 1; next }
    /^};/ { inside = 0 }
    inside && $2 == "=" { sub(",", "", $3); print "ErrorCode", $3, $1 }' \
    "${source_dir}/sdk/include/sotto/messages.h"
} | sort > "${work}/code"

if (($(wc -l < "${work}/code") < 50)); then
  echo "fewer than 50 fields and values found: are these the sources?"
  exit 1
fi
diff -u "${work}/code" "${work}/page"
