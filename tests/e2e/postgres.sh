#!/usr/bin/env bash
# postgres.sh WORK_DIR BIN
# Stores in PostgreSQL: the suites of a store on this kind of it, and databases with their own standbys:
#   - no server serves a database whose commits do not wait for every standby; one that waits is served, and the
#     standby, promoted, has all
#   - a standby that missed commits is found by the first receipt of a device
#   - a dump holds no secret of a device
# Skipped, 77, without PostgreSQL, or in a build without it.
set -euo pipefail
work="$1" bin="$2"
# shellcheck source-path=SCRIPTDIR source=postgres_cluster.sh
source "$(dirname "${BASH_SOURCE[0]}")/postgres_cluster.sh"
if [[ "$(ldd "${bin}/sotto")" != *libpq* ]]; then
  echo 'skipped: this build is without PostgreSQL (package libpq-dev)'
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
folder="$(postgres_folder)"
stop_all() {
  jobs -p | xargs -r kill 2> /dev/null || true
  local cluster
  for cluster in "${folder}"/*/; do cluster_stop "${cluster%/}" immediate 2> /dev/null || true; done
  rm -rf "${folder}"
}
trap stop_all EXIT

fail() {
  echo "FAILED: $1"
  shift
  [[ $# == 0 ]] || tail -n 30 "$@"
  exit 1
}

# The store's suites.
main="${folder}/main"
cluster_new "${main}"
psql -q -h "${main}" -U sotto -d postgres -c 'CREATE DATABASE suites'
suites=(Store Jobs Models Turns Receipts Sharing Evaluations)
filter='StoreTest.*:OwnersStoreTest.*:RoundFiguresTest.*:PostgresStoreTest.*'
for suite in "${suites[@]:1}"; do filter+=":Store${suite}Test.*"; done
SOTTO_TEST_POSTGRES="postgresql:///suites?host=${main}&user=sotto" \
  "${bin}/server_test" --gtest_filter="${filter}" --gtest_brief=1 > suites.log || fail 'a suite of the store' suites.log
tail -n 1 suites.log
grep -q 'PASSED.* [6-9][0-9] tests' suites.log || fail 'fewer suites than there were' suites.log

# A fleet of two devices in a database.
export PGUSER=sotto
psql -q -h "${main}" -d postgres -c 'CREATE DATABASE fleet'
store() { echo "postgresql:///fleet?host=$1"; }
timeout 30 "${bin}/sotto" keys new "$(store "${main}")" --count 2 --out keys > /dev/null
awk 'BEGIN { srand(1); for (i = 0; i < 20; i++) { for (j = 0; j < 64; j++) printf "%.3f,", rand(); print i % 10 } }' > data.csv
[[ "$(stat -c %a sotto-store.key)" == 600 ]]

# serve CLUSTER ROUND: goes on with the fleet's job of six rounds until this one is open, or all are released.
# Prints to serve.log; ends as the server does, or with 0.
serve() {
  local port=$((20000 + RANDOM % 12000)) device clients=() status=0
  : > serve.log
  timeout 300 "${bin}/sotto" serve "$(store "$1")" --once --sampling passes --participations 6 --cohort 2 --rounds 6 \
    --noise-multiplier 1 --model softmax-64-10 --round-timeout 1 --poll-interval 0.1 --release-allowance 0.1 --farewell 1 \
    --listen "127.0.0.1:${port}" > serve.log 2>&1 &
  local server=$!
  for device in 0 1; do
    "${bin}/sotto-client" --once --server "127.0.0.1:${port}" --key "keys/device-00000${device}.key" \
      --model softmax-64-10 --data data.csv --samples "$((10 * device)):10" > "client${device}.log" 2>&1 &
    clients+=($!)
  done
  while kill -0 "${server}" 2> /dev/null && ! grep -q "round $2 attempt" serve.log; do sleep 0.2; done
  local stopped=false
  ! kill "${server}" 2> /dev/null || stopped=true
  wait "${server}" || status=$?
  kill "${clients[@]}" 2> /dev/null || true
  wait
  "${stopped}" || return "${status}"
}

# refused CLUSTER WORDS
refused() {
  if timeout 4 "${bin}/sotto" serve "$(store "$1")" > refused.log 2>&1; then fail "served in spite of $2" refused.log; fi
  grep -q "$2" refused.log || fail "not refused for $2" refused.log
}

# Its standby, of which it first knows nothing.
# standby_of CLUSTER NAME
standby_of() {
  as_postgres "${postgres_bin}/pg_basebackup" -h "$1" -U postgres -D "${folder}/$2/data" -R -c fast \
    -d "application_name=$2 host=$1 user=postgres"
}
set_names() {
  psql -q -h "${main}" -U postgres -d postgres -c "ALTER SYSTEM SET synchronous_standby_names = '$1'" \
    -c 'SELECT pg_reload_conf()' > /dev/null
}
as_postgres mkdir "${folder}/second"
standby_of "${main}" second
serve "${main}" 2 || fail 'a job in a database' serve.log client*.log
cluster_start "${folder}/second"
refused "${main}" 'cannot see the state of its standbys'
psql -q -h "${main}" -U postgres -d postgres -c "GRANT pg_read_all_stats TO sotto"
refused "${main}" 'commits do not wait for its standby second'
set_names 'ANY 1 (second, third)'
refused "${main}" 'does not wait for all standbys'
set_names '*'
refused "${main}" 'does not wait for all standbys'
set_names 'FIRST 1 (second)'
refused "${folder}/second" 'this is a standby'
psql -q -h "${main}" -U postgres -d postgres -c "SELECT pg_create_physical_replication_slot('left')" > /dev/null
psql -q -h "${main}" -U postgres -d postgres -c "SELECT pg_create_physical_replication_slot('over')" > /dev/null
refused "${main}" '2 unused replication slots'
psql -q -h "${main}" -U postgres -d postgres -c "SELECT pg_drop_replication_slot('left'), pg_drop_replication_slot('over')" > /dev/null

# A stale copy of the database: the standby's at this moment.
cluster_stop "${folder}/second"
as_postgres cp -r "${folder}/second" "${folder}/stale"
cluster_start "${folder}/second"
serve "${main}" 4 || fail 'a job in a database with a standby' serve.log client*.log
head() { "${bin}/sotto" status "$(store "$1")" --verify | grep head; }
before="$(head "${main}")"
cluster_stop "${main}" immediate
as_postgres "${postgres_bin}/pg_ctl" -D "${folder}/second/data" -w promote > /dev/null
[[ "$(head "${folder}/second")" == "${before}" ]] || fail 'the promoted standby has not all'
psql -q -h "${folder}/second" -U postgres -d postgres -c "ALTER SYSTEM SET synchronous_standby_names = ''" \
  -c 'SELECT pg_reload_conf()' > /dev/null
serve "${folder}/second" 7 || fail 'the job goes on after the promotion' serve.log client*.log

grep -q 'all 6 rounds' serve.log || fail 'the job is not over' serve.log

# The stale one: its server stops as on an older copy.
as_postgres rm "${folder}/stale/data/standby.signal"
cluster_start "${folder}/stale" -c synchronous_standby_names=''
status=0
serve "${folder}/stale" 7 || status=$?
[[ "${status}" == 4 ]] || fail "a stale standby was served (exit status ${status})" serve.log

# What a dump has.
"${postgres_bin}/pg_dump" -h "${folder}/second" fleet > dump.sql
grep -q device-000001 dump.sql
for key in keys/*.key; do
  secret="$(sed -n 's/^secret //p' "${key}")"
  [[ -n "${secret}" ]]
  if grep -qi "${secret}" dump.sql; then fail 'a dump holds a secret'; fi
done
"${bin}/sotto" store backup "$(store "${folder}/second")" backup.db > /dev/null
"${bin}/sotto" status backup.db --verify | grep -q "$(head "${folder}/second")"
echo 'passed'
