#!/usr/bin/env bash
# ingest.sh BUILD_DIR [--update | --small]
# What an update costs one server and what a round would cost a coordinator of several, measured on this machine, and what
# larger fleets would take, computed from it (ingest.py). With --update the tables replace what server/INGEST.md has; with
# --small it only shows that it runs. The build has -DSOTTO_TESTS=ON.
set -euo pipefail
build="$(cd "$1" && pwd)"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
page="${here}/../../server/INGEST.md"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
python3 "${here}/ingest.py" "${build}" "${work}" ${2+"$2"}
[[ "${2-}" == --update ]] || exit 0
for table in served reach coordinator rounds; do
  sed -i -e "/^<!-- ${table} -->/,/^\$/ { /^|/d; }" -e "/^<!-- ${table} -->/r ${work}/${table}.md" "${page}"
done
