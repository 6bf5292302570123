#!/usr/bin/env bash
# systemd_unit.sh SOURCE_DIR WORK_DIR BUILD_DIR
# systemd accepts the units of sotto-client, sotto-gateway, the server and its copies, and the templates of client and
# server, and rates their exposure at most 1.5 of 10.
# Skipped, 77, where systemd-analyze is missing or too old.
set -euo pipefail
source_dir="$1" work="$2" build_dir="$3"
if ! command -v systemd-analyze > /dev/null; then
  echo "skipped: no systemd-analyze (package systemd)"
  exit 77
fi
version="$(systemd-analyze --version | sed -nE '1s/^systemd ([0-9]+).*/\1/p')"
if ((version < 252)); then
  echo "skipped: systemd ${version} is older than 252"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
check_unit() { # check_unit FOLDER NAME ARGUMENTS
  local unit="${work}/$2"
  # The programs must exist where the unit says.
  sed -E 's#^ExecStart=/usr/(local/)?bin/[a-z-]* #ExecStart=/bin/true #' "$1/$2" > "${unit}"
  grep -q "^ExecStart=/bin/true $3\$" "${unit}"
  systemd-analyze verify "${unit}" > "${work}/verify.txt" 2>&1 || {
    cat "${work}/verify.txt"
    exit 1
  }
  # Unknown settings are warnings, and systemd-analyze succeeds all the same.
  if grep "$2" "${work}/verify.txt"; then exit 1; fi
  systemd-analyze security --offline=yes --threshold=15 --no-pager "${unit}" | tail -n 1
}
check_unit "${source_dir}/ports/posix/client" sotto-client.service '--config /etc/sotto/client.toml'
check_unit "${source_dir}/ports/posix/gateway" sotto-gateway.service '--config /etc/sotto/gateway.toml'
check_unit "${source_dir}/server" sotto-server.service 'serve --config /etc/sotto/server.toml'
check_unit "${source_dir}/server" sotto-backup.service 'store backup /var/lib/sotto/fleet.db fleet.db'
check_unit "${build_dir}/units" sotto-client@.service '--kit /var/lib/sotto/%i.sotto'
check_unit "${build_dir}/units" sotto-server@.service 'serve --config /etc/sotto/%i.toml'
cp "${source_dir}/server/sotto-backup.timer" "${work}"
systemd-analyze verify "${work}/sotto-backup.timer"
