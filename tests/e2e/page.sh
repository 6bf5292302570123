#!/usr/bin/env bash
# page.sh SOURCE_DIR WORK_DIR SOTTO SOTTO_LAB
# The operator's page of real servers in a real browser, reports of their stores, and the metrics as
# promtool reads them: a live job of a thousand rounds, a job that gave up, a store without jobs, other
# sites. Skipped, 77, where Chromium with Selenium is missing. The metrics are checked if promtool is
# there: build/cache/promtool, or on the path.
set -euo pipefail
source_dir="$1" work="$2" sotto="$3" lab="$4"
checks=(/usr/bin/python3 -B "${source_dir}/tests/page/page_checks.py")
status=0
"${checks[@]}" about:blank login || status=$?
((status != 77)) || exit 77
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
promtool="${source_dir}/build/cache/promtool"
[[ -x "${promtool}" ]] || promtool="$(command -v promtool || true)"

cleanup() { jobs -p | xargs -r kill 2> /dev/null || true; }
trap cleanup EXIT

fail() {
  echo "page.sh: $1"
  tail -n 20 ./*.log
  exit 1
}

# serve LOG OPTION...: starts a server of ${store} with a page; sets `url`, `token` and `port`.
store=fleet.db
serve() {
  local log="$1"
  rm -f port
  : > "${log}"
  "${sotto}" serve "${store}" --once --listen 127.0.0.1:0 --port-file port --http 127.0.0.1:0 \
    --accept-delta "${@:2}" 2> "${log}" &
  server=$!
  for ((i = 0; i < 600; i++)); do
    url="$(sed -nE 's/.* page: (http:[^ ]+) .*/\1/p' "${log}" | tail -n 1)"
    [[ -z "${url}" || ! -s port ]] || break
    sleep 0.1
  done
  [[ -n "${url}" ]] || fail 'no page'
  token="$(cat "${store}.token")"
  port="$(cat port)"
}

look() { "${checks[@]}" "${url}" --token "${token}" "$@" || fail "the page of $*"; }

"${sotto}" keys new fleet.db --count 2 --out keys > keys.log
"${sotto}" report fleet.db --operator --out empty.html > report.log
"${checks[@]}" "file://${work}/empty.html" empty

# A job as fast as it can, until it has a thousand rounds: then it is paused, and everything is looked at. A browser
# that follows fifty rounds a second would leave the rest of the test no time.
serve live.log --sampling uniform --cohort 2 --rounds 100000 --noise-multiplier 50 --delta 0.1 --close-early \
  --test synthetic --evaluate-every 50
"${lab}" swarm fleet.db --server "127.0.0.1:${port}" > swarm.log 2>&1 &
swarm=$!
look live
for ((i = 0; i < 1200; i++)); do
  ((i % 10 > 0)) || released="$("${sotto}" status fleet.db | sed -nE 's/.*: ([0-9]+) of 100000 rounds.*/\1/p')"
  ((released < 1000)) || break
  sleep 0.1
done
"${sotto}" job pause fleet.db > pause.log
look thousand always  # thousand first: the browser may complain of the login check after it
if [[ -n "${promtool}" ]]; then
  /usr/bin/python3 -c '
import sys, urllib.request
ask = urllib.request.Request(sys.argv[1] + "metrics", headers={"Authorization": "Bearer " + sys.argv[2]})
sys.stdout.buffer.write(urllib.request.urlopen(ask).read())' "${url}" "${token}" > metrics.txt
  "${promtool}" check metrics < metrics.txt || fail 'promtool complains'
  grep -q '^sotto_epsilon{' metrics.txt || fail 'no epsilon among the metrics'
else
  echo 'NOT TESTED: the metrics with promtool'
fi
kill "${server}" "${swarm}"
wait "${server}" "${swarm}" || true
"${sotto}" report fleet.db --out report.html > report.log
"${checks[@]}" "file://${work}/report.html" charts widths picture markup print numbers paper published thousand ||
  fail 'the report'

# A job of passes: what its devices had of their turns, live and in a report.
store=passes.db
"${sotto}" keys new "${store}" --count 2 --out passes_keys > keys.log
serve passes.log --sampling passes --participations 100000 --cohort 2 --rounds 100000 --noise-multiplier 50 \
  --delta 0.01 --close-early
"${lab}" swarm "${store}" --server "127.0.0.1:${port}" > swarm.log 2>&1 &
swarm=$!
look turns
kill "${server}" "${swarm}"
wait "${server}" "${swarm}" || true
"${sotto}" report "${store}" --operator --out turns.html > report.log
"${checks[@]}" "file://${work}/turns.html" turns || fail 'the report of passes'

# Nobody comes to the next job. The browser must be there before the server gives up, and ends, after ten attempts.
store=fleet.db
"${sotto}" job resume fleet.db > resume.log
serve gave_up.log --new-job --sampling uniform --cohort 2 --rounds 3 --noise-multiplier 50 --delta 0.1 \
  --round-timeout 4 --poll-interval 0.1 --min-devices 2 --release-allowance 0.5
look gave_up
