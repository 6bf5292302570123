#!/usr/bin/env bash
# Sourced: separate PostgreSQL clusters, as an ordinary user, from Debian's package. initdb refuses
# root, so root's clusters are the user's that the package made. Exits 77 where it is not installed.
postgres_bin="$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2> /dev/null | sort -V | tail -n 1 || true)"
if [[ -z "${postgres_bin}" || ! -x "${postgres_bin}/initdb" ]]; then
  echo "skipped: no PostgreSQL (package postgresql)"
  exit 77
fi

# as_postgres COMMAND...
as_postgres() {
  if [[ "$(id -u)" == 0 ]]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# A new folder for clusters, in memory if there is room: a test waits for no disk. The caller removes it.
postgres_folder() {
  local folder
  if (($(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1 || echo 0) > 700000)); then
    folder="$(mktemp -d /dev/shm/sotto.XXXXXX)"
  else
    folder="$(mktemp -d "${TMPDIR:-/tmp}/sotto.XXXXXX")"
  fi
  [[ "$(id -u)" != 0 ]] || chown postgres "${folder}"
  echo "${folder}"
}

# cluster_start FOLDER [OPTION...]: listens on FOLDER/.s.PGSQL.5432 alone; options as the server takes them.
cluster_start() {
  local folder="$1"
  shift
  as_postgres "${postgres_bin}/pg_ctl" -D "${folder}/data" -l "${folder}/log" -w -t 120 \
    -o "-k ${folder} -c listen_addresses='' $*" start > /dev/null
}

# cluster_stop FOLDER [MODE]
cluster_stop() {
  as_postgres "${postgres_bin}/pg_ctl" -D "$1/data" -m "${2:-fast}" -w stop > /dev/null
}

# cluster_new FOLDER: with a role `sotto`, which may make databases.
cluster_new() {
  as_postgres mkdir -p "$1"
  as_postgres "${postgres_bin}/initdb" -D "$1/data" -U postgres --auth=trust -E UTF8 --no-sync > /dev/null
  cluster_start "$1"
  psql -q -h "$1" -U postgres -d postgres -c "CREATE ROLE sotto LOGIN CREATEDB"
}
