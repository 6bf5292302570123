#!/usr/bin/env bash
# standby.sh SOURCE_DIR WORK_DIR BIN
# The session of server/STANDBY.md as it stands there: PostgreSQL, HAProxy, two servers and six devices; one server is
# killed and the other ends the job. Only ports, the folder of the programs and the database's machine are changed; what needs
# root is played. Skipped, 77, without PostgreSQL, HAProxy or Fashion-MNIST.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
# shellcheck source-path=SCRIPTDIR source=postgres_cluster.sh
source "$(dirname "${BASH_SOURCE[0]}")/postgres_cluster.sh"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
if [[ ! -x /usr/sbin/haproxy || ! -d /usr/share/datasets/fashion-mnist || "$(ldd "${bin}/sotto")" != *libpq* ]]; then
  echo 'skipped: no haproxy, no Fashion-MNIST (dataset-fashion-mnist) or a build without PostgreSQL (libpq-dev)'
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
folder="$(postgres_folder)"
trap 'jobs -p | xargs -r kill 2> /dev/null; pkill -f "^/usr/sbin/haproxy -f ${work}" || true
  cluster_stop "${folder}/db" immediate; rm -rf "${folder}"' EXIT
cluster_new "${folder}/db"

extract_blocks server/STANDBY.md blocks
{
  echo 'set -e'
  # The database's commands, as the user who may.
  # shellcheck disable=SC2016
  echo 'sudo() { [[ "$1" == apt-get ]] || PGUSER=postgres "${@:3}"; }'
  cat blocks/*.bash
} > session.sh
port=$((20000 + RANDOM % 12000))
sed -i "s#build/host/bin/#${bin}/#; s/7177/${port}/g; s/7178/$((port + 1))/g; s/7179/$((port + 2))/g
  s#/usr/sbin/haproxy -f haproxy.cfg#/usr/sbin/haproxy -f ${work}/haproxy.cfg#" session.sh
export PGHOST="${folder}/db" PGUSER=sotto USER=sotto
psql -q -d postgres -U postgres -c 'DROP ROLE sotto'
fail() {
  echo "FAILED: $1"
  tail -n 20 session.txt first.log second.log device-*.log
  exit 1
}
timeout 200 bash session.sh > session.txt 2>&1 || fail 'the session'
grep -q 'standby: postgresql:///fleet: process .* serves it; this server waits' second.log || fail 'no standby'
grep -q 'postgresql:///fleet: this server takes over' second.log || fail 'nobody took over'
grep -q 'all 12 rounds of the plan are released' second.log || fail 'the job did not end'
[[ "$(grep -cE '^ *(1 +)?(1|2|3|4|5|6|7|8|9|10|11|12) ' session.txt)" -ge 12 ]] || fail 'not twelve releases'
echo 'passed'
