#!/usr/bin/env bash
# protocol_tables.sh SOURCE_DIR WORK_DIR
# The tables of server/PROTOCOL.md and server/PEER_PROTOCOL.md agree with the code: fields by number, name, type
# and size of byte fields (sotto.proto, peer.proto and their .options), values of enumerations, error codes
# and states (messages.h).
set -euo pipefail
source_dir="$1" work="$2"
mkdir -p "${work}"
wire="${source_dir}/sdk/src/wire"

# page_tables PAGE: lines "MESSAGE NUMBER NAME TYPE LIMIT" and "ENUM VALUE NAME".
page_tables() {
  sed 's/`//g' "${source_dir}/$1" | awk -F ' *[|] *' '
    /^### / { name = substr($0, 5); kind = "" }
    /^\| number \|/ { kind = "fields" }
    /^\| value \|/ { kind = "values" }
    $2 !~ /^[0-9]+$/ { next }
    kind == "fields" { print name, $2, $3, $4, $4 == "bytes" ? $5 : "-" }
    kind == "values" { print name, $2, $3 }' | sort
}

# code_tables NAME PREFIX: the same of NAME.proto and NAME.options, whose lines begin with PREFIX. A fixed
# length is exact; other fields have 1 byte or more, or where a message is well-formed without them any number.
code_tables() {
  awk -v prefix="$2" '
    FILENAME ~ /options$/ {
      if (index($1, prefix ".") != 1) next
      name = substr($1, length(prefix) + 2)
      if (name !~ /^[A-Za-z]+\.[a-z_]+$/) next
      limit = "the frame"
      if (match($0, /max_size:[0-9]+/)) {
        limit = substr($0, RSTART + 9, RLENGTH - 9)
        limit = (/fixed_length:true/ ? "exactly " : name ~ /\.address$/ ? "up to " : "1 to ") limit
      }
      limits[name] = limit
      next
    }
    { sub("//.*", ""); sub(";", "") }
    $1 == "message" || $1 == "enum" { name = $2; kind = $1; next }
    kind == "message" && $3 == "=" {
      print name, $4, $2, $1, $1 == "bytes" ? limits[name "." $2] : "-"
    }
    kind == "enum" && $2 == "=" { print name, $3, $1 }' "${wire}/$1.options" "${wire}/$1.proto"
}

codes() {
  awk '
    /^enum class (ErrorCode|WaitState) / { inside = $3; next }
    /^};/ { inside = "" }
    inside != "" && $2 == "=" { sub(",", "", $3); print inside, $3, $1 }' \
    "${source_dir}/sdk/include/sotto/messages.h"
}

# compare PAGE LEAST: the page's tables with those on standard input, LEAST lines or more.
compare() {
  sort > "${work}/code"
  page_tables "$1" > "${work}/page"
  if (($(wc -l < "${work}/code") < $2)); then
    echo "fewer than $2 fields and values found for $1: are these the sources?"
    return 1
  fi
  diff -u "${work}/code" "${work}/page"
}

{ code_tables sotto sotto && codes; } | compare server/PROTOCOL.md 50
code_tables peer sotto.peer | compare server/PEER_PROTOCOL.md 50
