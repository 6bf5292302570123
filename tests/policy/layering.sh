#!/usr/bin/env bash
# layering.sh SOURCE_DIR
# sdk <- ports <- server, and within sdk and server each folder includes only itself and those before
# it. A public header of the SDK belongs to the folder that its first line names ("Part of sotto/lrq").
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=includes.sh
source "$(dirname "${BASH_SOURCE[0]}")/includes.sh"
cd "$1"

# Lines "part HEADER FOLDER", then the includes.
{
  for header in sdk/include/*.h sdk/include/sotto/*.h sdk/include/sotto/layers/*.h; do
    folder="$(sed -nE '1,5s|.*Part of sotto/([a-z]+).*|\1|p' "${header}" | head -n 1)"
    echo "part ${header} ${folder:-none}"
  done
  list_includes sdk ports server
} | awk '
  function complain(why) { print $1 ":" $2 ": " $3 ": " why; bad = 1 }
  function rank_folders(side, list,    names, count, i) {
    count = split(list, names, " ")
    for (i = 1; i <= count; i++) rank[side "/" names[i]] = i
  }
  BEGIN {
    rank_folders("sdk", "base num crypto store frames tls lrq nn train models local peer wire client link c")
    # Kinds of layers and losses use the kernels of nn, and its nets name them, as they name steps that
    # prepare samples: one room.
    rank["sdk/layers"] = rank["sdk/losses"] = rank["sdk/preparation"] = rank["sdk/nn"]
    rank_folders("server", "base ranks accounting plans published certificate aggregate codec data evaluation export downloads round traffic spec store backends peers net web sim views overview jobs service swarm audit formulas experiment cli account lab shard")
    side_rank["sdk"] = 1; side_rank["ports"] = 2; side_rank["public"] = 2.5; side_rank["server"] = 3
  }
  $1 == "part" {
    if (!(("sdk/" $3) in rank)) { print $2 ": its first line names no folder of sdk/src"; bad = 1 }
    sub("^sdk/include/", "", $2)
    part[$2] = $3
    next
  }
  $3 !~ /^"/ { next }
  {
    seen++
    split($1, path, "/")
    side = path[1]
    header = substr($3, 2, length($3) - 2)
    from = ""
    if ($1 ~ /^sdk\/include\//) from = part[substr($1, length("sdk/include/") + 1)]
    else if (side != "ports") from = path[3]

    to_side = side
    if (header ~ /^sotto\/(layers\/)?[^\/]+$/) {
      to_side = "sdk"
      to = part[header]
      if (to == "") { complain("no such header in sdk/include"); next }
    } else if (header ~ /^sotto\/research\//) {
      # The public headers of the server: they include the SDK, the ports and each other.
      to_side = "public"
    } else if (header ~ /^sotto\//) {
      to_side = "ports"
    } else if (header ~ /\//) {
      to = header
      sub("/.*", "", to)
    } else {
      to = from
    }

    if (side_rank[to_side] > side_rank[side]) {
      complain(side " must not include " to_side)
    } else if (side == "ports" && to_side == "ports" && header ~ /\// && header !~ /^sotto\//) {
      complain("a port includes public headers of the SDK and its own files")
    } else if (to_side == side && side != "ports") {
      if (!((side "/" from) in rank)) complain("folder " side "/src/" from " is not in the list")
      else if (!((side "/" to) in rank)) complain("folder " side "/src/" to " is not in the list")
      else if (rank[side "/" to] > rank[side "/" from]) complain(from " comes before " to)
    }
  }
  END {
    if (seen < 50) { print "only " seen + 0 " includes found: is this the source folder?"; bad = 1 }
    exit bad
  }'
