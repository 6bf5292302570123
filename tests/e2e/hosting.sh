#!/usr/bin/env bash
# hosting.sh SOURCE_DIR BUILD_DIR WORK_DIR BIN_DIR
# Follows server/HOSTING.md: its sh blocks run in their order, with the real programs, below WORK_DIR instead of
# / and on free ports. What needs root, systemd, a firewall or a second machine is played; the
# services' programs are started as the units say. Real devices take part. Between the blocks:
#   - the page and the metrics answer with the token, and not without; through nginx, too, if it is there
#   - every metric of the alerts exists; promtool, if it is there, agrees with the alerts and the configuration
#   - the published report has nothing of the operator's
#   - the server refuses an older copy as the page says, and goes on with the newest
# nginx, haproxy, promtool, nft and age are skipped by name where they are missing. haproxy.sh runs a real HAProxy.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3" bin="$4"
readme="${source_dir}/server/HOSTING.md"
rm -rf "${work}"
mkdir -p "${work}"/{played,state,checkout,device,blocks}
mkdir -p "${work}"/root/etc/{sotto,default,haproxy,prometheus,nginx/sites-available,nginx/sites-enabled,ssl/private,ssl/certs}
mkdir -p "${work}"/root/var/lib
cd "${work}/checkout"
ln -s "${source_dir}/examples" .

fail() {
  echo "FAILED: $1"
  tail -n 20 "${work}"/state/*.log 2> /dev/null || true
  exit 1
}

skip() { echo "skipped: no $1"; }

# A port that nothing listens on.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (: < "/dev/tcp/127.0.0.1/${port}") 2> /dev/null || break
  done
  echo "${port}"
}
devices_port="$(free_port)" page_port="$(free_port)" tls_port="$(free_port)"

# Paths below the work folder, and these ports, in text. The first # may not be part of a longer path.
export RELOCATE="s#(^|[^A-Za-z0-9._/-])/(etc|var/lib|usr/local)/#\1${work}/root/\2/#g
  s#/usr/bin/age#age#g; s/\b7177\b/${devices_port}/g; s/\b8080\b/${page_port}/g; s/listen 443 /listen 127.0.0.1:${tls_port} /
  s/--cohort 20 --rounds 30 /--cohort 2 --rounds 1000 --participations 1000 /"
export UNITS="${work}/root/usr/local/lib/systemd/system" ROOT="${work}/root" STATE="${work}/state"

# play COMMAND SCRIPT: a command of that name, first in PATH.
play() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" > "${work}/played/$1"
  chmod +x "${work}/played/$1"
}
# shellcheck disable=SC2016  # for the played commands
{
  play sudo '[[ "$1" != -u ]] || shift 2; exec "$@"'
  play apt-get 'echo "apt-get $*" >> "${STATE}/played.txt"'
  play useradd 'true'
  play ufw 'echo "ufw $*" >> "${STATE}/played.txt"'
  play git 'true'
  mkdir toolchains
  play fetch-source.sh 'echo "fetch-source.sh $*" >> "${STATE}/played.txt"'
  mv "${work}/played/fetch-source.sh" toolchains
  play cmake '
    echo "cmake $*" >> "${STATE}/played.txt"
    [[ "$1" != --install ]] || exec "${REAL_CMAKE}" --install "${BUILD_DIR}" "${@:3}" --prefix "${ROOT}/usr/local"'
  play systemctl 'exec bash "${SOURCE_DIR}/tests/e2e/played_systemctl.sh" "$@"'
  play nginx 'exit 0'
  play socat 'cat > /dev/null; echo "socat $*" >> "${STATE}/played.txt"'
  play ssh '
    while [[ "$1" == -* ]]; do
      [[ "$1" != -L ]] || exit 0
      shift
    done
    [[ "$1" != raspberrypi.local ]] || cd "${ROOT}/../device"
    exec bash -c "${*:2}"'
  play sudoedit '
    sed -i -E "s/^(listen = ).*/\1\"127.0.0.1:${DEVICES_PORT}\"/; s/^(http = ).*/\1\"127.0.0.1:${PAGE_PORT}\"/
      s/^#(http-name)/\1/; s/^(round-timeout = ).*/\11.0/" "$1"
    sed -i -E "s#/var/lib/sotto#${ROOT}/var/lib/sotto#" "$1"
    printf "release-allowance = 0.2\npoll-interval = 0.2\n" >> "$1"'
  play install '
    arguments=()
    while (($# > 0)); do
      case "$1" in
        -o | -g) shift 2 ;;
        *) arguments+=("$1"); shift ;;
      esac
    done
    exec /usr/bin/install "${arguments[@]}"'
  play nft 'real="$(PATH="${PATH#*:}:/usr/sbin" command -v nft)" || exit 0; exec unshare -rn "${real}" "$@"'
  if ! command -v age > /dev/null; then
    skip 'age (package age): copies are not encrypted here'
    play age-keygen 'if [[ "$1" == --output ]]; then echo key > "$2"; else echo recipient; fi'
    play age '
      if [[ "$1" == --encrypt ]]; then test -s "$3" && cp "$6" "$5"; else test -s "$3" && cat "$4"; fi'
  fi
  if ! PATH="${PATH}:/usr/sbin" command -v haproxy > /dev/null; then
    skip 'haproxy (package haproxy): its configuration is not tried'
    play haproxy 'true'
  fi
  if ! command -v promtool > /dev/null; then
    skip 'promtool (package prometheus)'
    play promtool 'true'
  fi
}
REAL_CMAKE="$(command -v cmake)"
export REAL_CMAKE BUILD_DIR="${build_dir}" SOURCE_DIR="${source_dir}" DEVICES_PORT="${devices_port}" PAGE_PORT="${page_port}"
PATH="${PATH}:/usr/sbin" command -v nft > /dev/null || skip 'nft (package nftables)'
unshare -rn true 2> /dev/null || {
  skip 'right to make a network namespace: nft is not run'
  play nft 'true'
}
export PATH="${work}/played:${work}/root/usr/local/bin:${PATH}"

awk -v work="${work}/blocks" '
  /^```sh$/ { inside = 1; file = sprintf("%s/%02d.sh", work, ++count); next }
  /^```/ { inside = 0 }
  inside { print > file }' "${readme}"

# run_block WORDS: the next block, which must have these words in it. again WORDS: the one that has them.
next=0
play_block() {
  sed -E "${RELOCATE}" "$1" > "${work}/step.sh"
  sed 's/^/+ /' "$1"
  bash -e "${work}/step.sh" > "${work}/step.txt" 2>&1 < /dev/null || {
    cat "${work}/step.txt"
    fail "this block of HOSTING.md"
  }
}
run_block() {
  local block
  next=$((next + 1))
  block="$(printf '%s/blocks/%02d.sh' "${work}" "${next}")"
  grep -qF -e "$1" "${block}" || fail "block ${next} of HOSTING.md has no \"$1\": mend tests/e2e/hosting.sh"
  play_block "${block}"
}
again() { play_block "$(grep -lF -e "$1" "${work}"/blocks/*.sh | head -n 1)"; }

log="${work}/state/sotto-server.service.log"
store="${work}/root/var/lib/sotto/fleet.db"

wait_for() { # wait_for PATTERN FILE [COUNT]
  for ((i = 0; i < 1200; i++)); do
    (($(grep -cE -e "$1" "$2" 2> /dev/null || true) < ${3-1})) || return 0
    sleep 0.1
  done
  fail "no \"$1\" in $2"
}

# Nothing outlives this script.
cleanup() {
  local file
  for file in "${work}"/state/*.pid "${work}"/device/*.pid; do
    [[ ! -s "${file}" ]] || kill "$(cat "${file}")" 2> /dev/null || true
  done
}
trap cleanup EXIT
trap 'echo "FAILED: line ${LINENO} of hosting.sh"' ERR

# 8 images of 28 x 28 and their labels.
{
  printf '\0\0\10\3\0\0\0\10\0\0\0\34\0\0\0\34'
  head -c 6272 /dev/urandom
} > "${work}/device/images"
printf '\0\0\10\1\0\0\0\10\0\1\2\3\4\5\6\7' > "${work}/device/labels"
start_device() { # start_device NUMBER KIT
  "${bin}/sotto-client" --kit "$2" --server "127.0.0.1:${devices_port}" --hold 1 --give-up 600 --verbose \
    > "${work}/device/$1.txt" 2>&1 &
  echo $! > "${work}/device/$1.pid"
}

run_block 'cmake --install'
grep -qxF -e "fetch-source.sh $(sed -n 's/^For charts.*fetch-source.sh //p' "${source_dir}/toolchains/fetch-source.sh")" \
  "${work}/state/played.txt"
grep -q '^apt-get install .* libuv1-dev .* libmicrohttpd-dev .* curl$' "${work}/state/played.txt"
[[ "$(sotto --version)" == "$("${bin}/sotto" --version)" ]]
run_block 'useradd'
run_block 'sudoedit'
run_block 'sotto keys new'
run_block 'raspberrypi.local'
[[ "$(stat -c %a "${store}" "${work}/device/pi-000000.sotto")" == $'600\n600' ]]
cp "${work}"/root/var/lib/sotto/kits/pi-00000{1,2}.sotto "${work}/device"
run_block 'rm -r'
run_block 'systemctl enable --now sotto-server'
grep -qx 'ok' "${work}/step.txt"
grep -q 'devices 50, 50 eligible$' <(sed 's/  */ /g' "${work}/step.txt")
run_block 'sotto job start'
grep -q 'job 1 has begun' "${work}/step.txt"
start_device 0 "${work}/device/pi-000000.sotto"
start_device 1 "${work}/device/pi-000001.sotto"
start_device 2 "${work}/device/pi-000002.sotto"
run_block '/etc/nftables.conf'
run_block 'ufw'
run_block 'fleet.db.token'
token="$(cat "${work}/step.txt")"
[[ "${token}" =~ ^[0-9a-f]{64}$ && "$(stat -c %a "${store}.token")" == 600 ]]
run_block 'ssh -N -L'

# ask STATUS PATH [OPTION]...: what the page answers, in reply.txt
ask() {
  local status
  status="$(curl --silent --max-time 20 --output "${work}/reply.txt" --write-out '%{http_code}' "${@:3}" "${base}$2")" || true
  [[ "${status}" == "$1" ]] || fail "${base}$2 answers ${status}, not $1"
}
check_page() {
  ask 200 /
  ask 401 /api/overview
  ask 401 /metrics
  ask 200 /api/overview --header "Authorization: Bearer ${token}"
  grep -q '"audience":"operator"' "${work}/reply.txt"
  ask 403 /login --data "token=${token/[0-9a-f]/x}"
  ask 204 /login --data "token=${token}" --cookie-jar "${work}/cookies"
  ask 200 /api/devices --cookie "${work}/cookies"
  grep -q 'pi-000000' "${work}/reply.txt"
}
wait_for 'released: 2 of 2 reported' "${log}"
base="http://127.0.0.1:${page_port}"
check_page
ask 421 /healthz --header 'Host: fleet.example.com'

run_block '/etc/nginx/sites-available/sotto'
if real_nginx="$(PATH="${PATH#*:}:/usr/sbin" command -v nginx)"; then
  cat > "${work}/nginx.conf" << END
pid ${work}/state/nginx.pid;
error_log ${work}/nginx.log;
events {}
http {
  access_log off;
  client_body_temp_path ${work};
  proxy_temp_path ${work};
  fastcgi_temp_path ${work};
  uwsgi_temp_path ${work};
  scgi_temp_path ${work};
  include ${work}/root/etc/nginx/sites-enabled/*;
}
END
  "${real_nginx}" -e "${work}/nginx.log" -c "${work}/nginx.conf" || fail "nginx does not take the site"
  base="https://fleet.example.org:${tls_port}"
  # The name in Host: has no port, as behind port 443.
  through=(--cacert "${work}/root/etc/ssl/certs/sotto-page.pem" --resolve "fleet.example.org:${tls_port}:127.0.0.1")
  through+=(--header 'Host: fleet.example.org')
  ask 401 /api/overview "${through[@]}"
  ask 200 /api/overview "${through[@]}" --header "Authorization: Bearer ${token}"
  ask 204 /login "${through[@]}" --header 'Origin: https://fleet.example.org' --data "token=${token}"
  curl --silent --no-buffer --max-time 4 "${through[@]}" --header "Authorization: Bearer ${token}" \
    "${base}/api/events" > "${work}/events.txt" || true
  grep -q '^event: ' "${work}/events.txt" || fail "no event comes through nginx"
else
  skip 'nginx (package nginx-light): the site is not tried'
fi
base="http://127.0.0.1:${page_port}"

run_block '/etc/prometheus/prometheus.yml'
ask 200 /metrics --header "Authorization: Bearer $(cat "${work}/root/etc/prometheus/sotto.token")"
wait_for 'released: ' "${log}"
ask 200 /metrics --header "Authorization: Bearer ${token}"
rules="${work}/root/etc/prometheus/sotto-alerts.rules.yml"
while IFS= read -r name; do
  grep -qE "^${name}[ {]" "${work}/reply.txt" || fail "the server has no metric ${name}"
done < <(grep -hoE 'sotto_[a-z_]+' "${rules}" "${readme}" | sort -u)
# shellcheck disable=SC2016  # the page has the backquotes
diff <(grep -oE '`Sotto[A-Za-z]+`' "${readme}" | tr -d '`' | sort -u) <(sed -nE 's/.*alert: //p' "${rules}" | sort) ||
  fail 'HOSTING.md does not name the alerts that are there (above, >)'
cat > "${work}/alerts.test.yml" << END
rule_files: ["${rules}"]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="sotto", instance="a"}', values: '1x5 0x10'}
    alert_rule_test:
      - {eval_time: 12m, alertname: SottoDown, exp_alerts: [{exp_labels: {job: sotto, instance: a}, exp_annotations: {summary: "The server does not answer: systemctl status sotto-server"}}]}
  # Healthy servers: one has begun its first attempt of 10 minutes; the other has made 23 of 30 rounds at 0.945 of its
  # budget, half of its cohort reports, its devices poll and sleep, strangers come, and it was started anew.
  - interval: 1m
    input_series:
      - {series: 'up{job="sotto", instance="new"}', values: '1x60'}
      - {series: 'sotto_rounds_released{job="sotto", instance="new"}', values: '0x9 1x9 2x9 3x9 4x9 5x9'}
      - {series: 'sotto_job_over{job="sotto", instance="new"}', values: '0x60'}
      - {series: 'sotto_attempts_total{job="sotto", instance="new"}', values: '0x9 1x9 2x9 3x9 4x9 5x9'}
      - {series: 'sotto_last_checked_in{job="sotto", instance="new"}', values: '0x9 100x50'}
      - {series: 'sotto_eligible_devices{job="sotto", instance="new"}', values: '100x60'}
      - {series: 'sotto_devices{job="sotto", instance="new", state="never-seen"}', values: '100x3 0x57'}
      - {series: 'sotto_devices{job="sotto", instance="new", state="waiting"}', values: '0x3 100x57'}
      - {series: 'sotto_devices{job="sotto", instance="new", state="two-machines"}', values: '0x60'}
      - {series: 'sotto_devices{job="sotto", instance="new", state="claimed"}', values: '0x60'}
      - {series: 'up{job="sotto", instance="old"}', values: '1x60'}
      - {series: 'sotto_rounds_released{job="sotto", instance="old"}', values: '18x9 19x9 20x9 21x9 22x9 23x9'}
      - {series: 'sotto_job_over{job="sotto", instance="old"}', values: '0x60'}
      - {series: 'sotto_attempts_total{job="sotto", instance="old"}', values: '18x9 19x9 20x9 0x9 1x9 2x9'}
      - {series: 'sotto_warnings_total{job="sotto", instance="old"}', values: '3x29 0x30'}
      - {series: 'sotto_last_drawn{job="sotto", instance="old"}', values: '20x60'}
      - {series: 'sotto_last_reported{job="sotto", instance="old"}', values: '10x60'}
      - {series: 'sotto_sessions{job="sotto", instance="old"}', values: '0x60'}
      - {series: 'sotto_last_checked_in{job="sotto", instance="old"}', values: '80x29 0x9 80x20'}
      - {series: 'sotto_eligible_devices{job="sotto", instance="old"}', values: '100x60'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="waiting"}', values: '0x60'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="away"}', values: '80x20 0x3 80x37'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="silent"}', values: '20x20 100x3 20x37'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="old-key"}', values: '0x20 1x5 0x35'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="too-slow"}', values: '0x20 1x20 0x20'}
      - {series: 'sotto_devices{job="sotto", instance="old", state="revoked"}', values: '3x60'}
      - {series: 'sotto_epsilon{job="sotto", instance="old", adversary="public"}', values: '5.67x60'}
      - {series: 'sotto_epsilon_planned{job="sotto", instance="old"}', values: '6x60'}
      - {series: 'sotto_epsilon_budget{job="sotto", instance="old"}', values: '6x60'}
      - {series: 'sotto_connections{job="sotto", instance="old"}', values: '1500x60'}
      - {series: 'sotto_connections_limit{job="sotto", instance="old"}', values: '4096x60'}
      - {series: 'sotto_store_free_bytes{job="sotto", instance="old"}', values: '5e9x60'}
      - {series: 'sotto_store_copy_attempts_behind{job="sotto", instance="old"}', values: '1x60'}
      - {series: 'sotto_store_copy_time_seconds{job="sotto", instance="old"}', values: '0x9 600x9 1200x9 1800x9 2400x9 3000x20'}
    alert_rule_test:
$(for at in 6m 30m 59m; do
    sed -nE "s/.*alert: (.*)/      - {eval_time: ${at}, alertname: \\1, exp_alerts: []}/p" "${rules}"
  done)
  # An attempt that does not end, devices that do not come, and a budget that a changed fleet makes too small.
  - interval: 1m
    input_series:
      - {series: 'sotto_rounds_released{instance="a"}', values: '3x60'}
      - {series: 'sotto_job_over{instance="a"}', values: '0x60'}
      - {series: 'sotto_attempts_total{instance="a"}', values: '3x60'}
      - {series: 'sotto_last_checked_in{instance="a"}', values: '40x60'}
      - {series: 'sotto_eligible_devices{instance="a"}', values: '100x60'}
      - {series: 'sotto_epsilon_planned{instance="a"}', values: '6.1x60'}
      - {series: 'sotto_epsilon_budget{instance="a"}', values: '6x60'}
    promql_expr_test:
      - expr: 'sum by (alertname) (ALERTS{alertstate="firing"})'
        eval_time: 59m
        exp_samples:
          - {labels: '{alertname="SottoBudget"}', value: 1}
          - {labels: '{alertname="SottoFewHeard"}', value: 1}
          - {labels: '{alertname="SottoNoAttempt"}', value: 1}
  # Devices that want a look, and a fleet that does not come.
  - interval: 1m
    input_series:
      - {series: 'sotto_eligible_devices{instance="a"}', values: '100x60'}
      - {series: 'sotto_devices{instance="a", state="waiting"}', values: '0x60'}
      - {series: 'sotto_devices{instance="a", state="training"}', values: '0x60'}
      - {series: 'sotto_devices{instance="a", state="uploaded"}', values: '0x60'}
      - {series: 'sotto_devices{instance="a", state="away"}', values: '0x60'}
      - {series: 'sotto_devices{instance="a", state="silent"}', values: '95x60'}
      - {series: 'sotto_devices{instance="a", state="two-machines"}', values: '1x60'}
      - {series: 'sotto_devices{instance="a", state="old-key"}', values: '1x60'}
      - {series: 'sotto_devices{instance="a", state="claimed"}', values: '1x60'}
      - {series: 'sotto_devices{instance="a", state="other-model"}', values: '2x60'}
    promql_expr_test:
      - expr: 'sum by (alertname) (ALERTS{alertstate="firing"})'
        eval_time: 59m
        exp_samples:
          - {labels: '{alertname="SottoClaimed"}', value: 1}
          - {labels: '{alertname="SottoDevicesLeftOut"}', value: 1}
          - {labels: '{alertname="SottoNobodyConnected"}', value: 1}
          - {labels: '{alertname="SottoOldKey"}', value: 1}
          - {labels: '{alertname="SottoTwoMachines"}', value: 1}
  # A job that ended with its budget after 23 of 30 rounds.
  - interval: 1m
    input_series:
      - {series: 'up{job="sotto", instance="a"}', values: '1x60'}
      - {series: 'sotto_rounds_released{instance="a"}', values: '23x60'}
      - {series: 'sotto_rounds_planned{instance="a"}', values: '30x60'}
      - {series: 'sotto_attempts_total{instance="a"}', values: '23x60'}
      - {series: 'sotto_job_over{instance="a"}', values: '1x60'}
    promql_expr_test:
      - expr: 'sum by (alertname) (ALERTS{alertstate="firing"})'
        eval_time: 59m
        exp_samples:
          - {labels: '{alertname="SottoJobOver"}', value: 1}
END
promtool test rules "${work}/alerts.test.yml" || fail 'promtool does not agree with the alerts'

run_block '/etc/haproxy/haproxy.cfg'
run_block 'state drain'
[[ "$(grep -c 'socat stdio' "${work}/state/played.txt")" == 2 ]]

run_block 'sotto report'
# Its figures, without its scripts.
sed -n 's/.*id="overview">//p' "${work}/root/var/lib/sotto/report.html" | sed 's#</script>.*##' > "${work}/figures.json"
grep -q '"audience":"public"' "${work}/figures.json" || fail 'the report is not the published one'
! grep -E '"(reported|checked_in|topped_up|refused|update_bytes|late_ms|opened|log|network)":' "${work}/figures.json" ||
  fail 'the published report has figures of the operator'

run_block 'age-keygen'
run_block 'sotto-backup.timer'
[[ "$(ls "${work}/root/var/lib/sotto-backup")" == fleet.db.age ]] || fail 'the folder of copies has more than the copy'
run_block 'fleet.db.age.part'
cp fleet.db.age older.age
wait_for 'released' "${log}" "$(($(grep -c released "${log}") + 3))"
systemctl stop sotto-server
systemctl start sotto-backup > "${work}/step.txt"
again 'fleet.db.age.part'
mv fleet.db.age newest.age

# The older copy first.
cp older.age fleet.db.age
run_block 'fleet.db.broken'
run_block 'age --decrypt'
run_block 'sotto status /var/lib/sotto/fleet.db --verify'
[[ "$(stat -c %a "${store}")" == 600 ]]
wait_for '^\(exit 4\)$' "${log}"
plain() { sed -E "s#${work}/root##; s/[0-9]+/N/g" "$1"; }
grep -qxF -e "$(plain "${log}" | grep '^sotto: ')" <(plain "${readme}") || fail 'HOSTING.md shows another refusal'

mv newest.age fleet.db.age
again 'fleet.db.broken'
again 'age --decrypt'
again 'sotto status /var/lib/sotto/fleet.db --verify'
wait_for 'released' "${log}" 2

systemctl stop sotto-server
run_block 'sotto store recover'
wait_for 'recovered from an older copy' "${log}"
wait_for 'released: 2 of 2 reported' "${log}"

run_block 'sotto-before'
wait_for 'released: 2 of 2 reported' "${log}"
run_block 'sotto keys revoke'
[[ "$(grep -c 'new key\|revoked' <(tail -n 52 "${work}/step.txt"))" == 2 ]]
wait_for 'this device was revoked' "${work}/device/2.txt"
wait_for 'this key was replaced' "${work}/device/1.txt"
cp "${work}/root/var/lib/sotto/kits/pi-000001.sotto" "${work}/device"
start_device 1 "${work}/device/pi-000001.sotto"
run_block 'sotto model export'
[[ -s "${work}/root/var/lib/sotto/model.safetensors" ]]
run_block 'sotto job pause'

# The present job ends, the next one comes to its end, and the server stays.
run_block 'sotto job stop'
wait_for 'ended by .sotto job stop' "${log}"
sotto job start "${store}" --cohort 2 --rounds 1 --participations 1 --noise-multiplier 50 --yes > "${work}/step.txt"
grep -q 'job 2 has begun' "${work}/step.txt"
wait_for 'the plan.s one round is released' "${log}"
ask 200 /metrics --header "Authorization: Bearer ${token}"
grep -q '^sotto_job_over 1$' "${work}/reply.txt" || wait_for 'no job runs' "${log}" 2
systemctl stop sotto-server
((next == $(find "${work}/blocks" -name '*.sh' | wc -l))) || fail 'HOSTING.md has more blocks'
