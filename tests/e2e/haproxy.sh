#!/usr/bin/env bash
# haproxy.sh SOURCE_DIR WORK_DIR BIN_DIR
# A server behind a real HAProxy, set up by the blocks of "Behind HAProxy" in server/HOSTING.md, on loopback
# addresses and free ports. What the blocks need of root and systemd is played. Three devices take part
# through the proxy:
#   - limits by address count the devices' and strangers' addresses, and the log names them
#   - the server is restarted as the page says while the devices go on, and each round is released once
#   - HAProxy finds the server up, and the standby, whose port is closed, down
# Skipped, 77, without haproxy, socat or openssl.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
PATH="${PATH}:/usr/sbin"
for program in haproxy socat openssl; do
  command -v "${program}" > /dev/null || {
    echo "skipped: no ${program} (package ${program})"
    exit 77
  }
done
rm -rf "${work}"
mkdir -p "${work}"/{played,blocks}
cd "${work}"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
extract_blocks server/HOSTING.md blocks

fail() {
  echo "FAILED: $1"
  tail -n 25 server.log haproxy.log device-*.log 2> /dev/null || true
  exit 1
}
trap 'echo "FAILED: line ${LINENO} of haproxy.sh"' ERR

wait_for() { # wait_for WORDS FILE [COUNT]
  for ((i = 0; i < 600; i++)); do
    (($(grep -cF -e "$1" "$2" 2> /dev/null || true) < ${3-1})) || return 0
    sleep 0.1
  done
  fail "no \"$1\" in $2"
}

# Nothing outlives this script.
cleanup() {
  local file
  for file in *.pid; do
    [[ ! -s "${file}" ]] || kill "$(cat "${file}")" 2> /dev/null || true
  done
}
trap cleanup EXIT

# A port that nothing listens on at these addresses.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (: < "/dev/tcp/127.0.0.1/${port}") 2> /dev/null || (: < "/dev/tcp/127.0.0.2/${port}") 2> /dev/null || break
  done
  echo "${port}"
}
# The proxy is 127.0.0.2, `first` 127.0.0.1, and at 127.0.0.3 nobody listens.
devices_port="$(free_port)" page_port="$(free_port)" closed_port="$(free_port)"
relocate="s/192\.0\.2\.11/127.0.0.2/; s/192\.0\.2\.12/127.0.0.3/; s/\b7177\b/${devices_port}/; s/\b8080\b/${page_port}/
  s/\b443\b/${closed_port}/; s#/etc/haproxy/##; s#/run/haproxy#${work}#; /^  (chroot|user|group) /d"
block_with() { grep -lF -e "$1" blocks/* | head -n 1; } # block_with WORDS: the file of the first block that has them

# As the page says, and for the test: rounds that take no time, and few connections.
sed -E "${relocate}" "$(block_with 'proxies = ')" > server.toml
cat >> server.toml << 'END'
max-connections = 300
handshake-timeout = 300
poll-interval = 0.1
release-allowance = 0.1
round-timeout = 60
verbose = true
END
rounds=60
touch server.log
start_server() {
  "${bin}/sotto" serve store --config server.toml --once --close-early --cohort 2 --rounds "${rounds}" \
    --sampling uniform --noise-multiplier 1 --delta 0.1 --accept-delta >> server.log 2>&1 &
  echo $! > server.pid
}
# restart: of the service `sotto-server`, and of haproxy.
restart_server() {
  if [[ -s server.pid ]]; then
    kill "$(cat server.pid)"
    wait "$(cat server.pid)" || true
  fi
  local before
  before="$(grep -c 'listening on' server.log || true)"
  start_server
  wait_for 'listening on' server.log "$((before + 1))"
}
restart_haproxy() {
  haproxy -db -f haproxy.cfg > haproxy.log 2>&1 &
  echo $! > haproxy.pid
}
# run_block WORDS: a block of the page in this shell, so that a restart is a child of it.
sudo() { "$@"; }
apt-get() { [[ "$*" == 'install --no-install-recommends haproxy socat' ]]; }
systemctl() {
  [[ "$1" == restart ]] || fail "systemctl $*"
  case "$2" in
    sotto-server) restart_server ;;
    haproxy) restart_haproxy ;;
    *) fail "systemctl $*" ;;
  esac
}
run_block() {
  sed -E "${relocate}" "$(block_with "$1")" > step.sh
  # shellcheck source=/dev/null
  source step.sh
}
# Whether HAProxy says that this server is up (2), drained or down.
state_of() { echo 'show servers state' | socat stdio "${work}/admin.sock" | awk -v name="$1" '$4 == name { print $6 }'; }
wait_for_state() { # wait_for_state SERVER STATE
  for ((i = 0; i < 300; i++)); do
    [[ "$(state_of "$1" 2> /dev/null)" != "$2" ]] || return 0
    sleep 0.1
  done
  fail "HAProxy says of $1: $(state_of "$1")"
}

# 32 images of 28 x 28 and their labels.
{
  printf '\0\0\10\3\0\0\0\40\0\0\0\34\0\0\0\34'
  head -c 25088 /dev/urandom
} > images
{
  printf '\0\0\10\1\0\0\0\40'
  printf '\0\1\2\3\4\5\6\7%.0s' 1 2 3 4
} > labels
"${bin}/sotto" keys new store --count 3 --kits kits --server "127.0.0.2:${devices_port}" --model softmax-784-10 \
  --data ../images --labels ../labels > /dev/null

run_block 'haproxy.cfg'
wait_for_state first 2
wait_for_state second 0
# A stranger in the name of the first device, from another address.
openssl s_client -connect "127.0.0.2:${devices_port}" -bind 127.0.0.9:0 -tls1_2 -cipher PSK-CHACHA20-POLY1305 \
  -psk_identity device-000000 -psk "$(printf '5a%.0s' {1..32})" < /dev/null > stranger.log 2>&1 || true
wait_for 'device-000000' server.log
grep -F 'device-000000' server.log | grep -qF 127.0.0.9 || fail 'the log does not name the address of the stranger'

# 100 silent connections of one address: it may have a quarter of the 300. Others stay.
/usr/bin/python3 -B - "${devices_port}" << 'END' || fail 'silent connections of one address'
import select, socket, sys, time

port = int(sys.argv[1])
def connect(source):
    return socket.create_connection(("127.0.0.2", port), source_address=(source, 0))

def closed(sockets):
    ready = select.select(sockets, [], [], 0)[0]
    return len(ready)  # nobody sends a byte to a silent connection

def wait_for(sockets, count):
    for _ in range(300):
        if closed(sockets) >= count:
            break
        time.sleep(0.1)
    return closed(sockets)

others = [connect("127.0.1.%d" % (i + 1)) for i in range(50)]
many = [connect("127.0.0.8") for i in range(100)]
assert wait_for(many, 25) == 25, closed(many)
assert closed(others) == 0, closed(others)
END

for i in 0 1 2; do
  "${bin}/sotto-client" --kit "kits/device-00000$i.sotto" --samples "$((8 * i)):8" --once --verbose > "device-$i.log" 2>&1 &
  echo $! > "device-$i.pid"
done
wait_for ' released: ' server.log 3

run_block 'state drain'
for i in 0 1 2; do
  wait "$(cat "device-$i.pid")" || fail "device $i: status $?"
  grep -qF "connected to 127.0.0.2:${devices_port}" "device-$i.log" || fail "device $i has not come through the proxy"
done
wait "$(cat server.pid)" || fail "the server: status $?"
[[ "$(grep -c ' released: ' server.log)" == "${rounds}" ]] || fail 'not each round was released once'
! grep -F 'PROXY header' server.log || fail 'a connection of the proxy began without its header'
