#!/usr/bin/env bash
# systemd_unit.sh SOURCE_DIR WORK_DIR
# systemd accepts the unit of sotto-client and rates its exposure at most 1.5 of 10. Skipped, 77, where
# systemd-analyze is missing or too old.
set -euo pipefail
source_dir="$1" work="$2"
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
# The program must exist where the unit says.
sed 's#^ExecStart=/usr/local/bin/sotto-client #ExecStart=/bin/true #' \
  "${source_dir}/ports/posix/client/sotto-client.service" > "${work}/sotto-client.service"
grep -q '^ExecStart=/bin/true --config /etc/sotto/client.toml$' "${work}/sotto-client.service"
systemd-analyze verify "${work}/sotto-client.service" > "${work}/verify.txt" 2>&1 || {
  cat "${work}/verify.txt"
  exit 1
}
# Unknown settings are warnings, and systemd-analyze succeeds all the same.
if grep 'sotto-client.service' "${work}/verify.txt"; then exit 1; fi
systemd-analyze security --offline=yes --threshold=15 --no-pager "${work}/sotto-client.service" |
  tail -n 1
