#!/usr/bin/env bash
# Fetches the source of Mbed TLS 3.6 into a cache folder.
set -euo pipefail

usage() {
  cat << 'END'
Usage: toolchains/fetch-mbedtls-3.6.sh DEST

Puts Debian 13's source package of Mbed TLS 3.6 into DEST/mbedtls-3.6; does nothing if it is there.
The archive's address and its key are those of this machine's own apt sources (Debian), and apt
verifies the download. Needs no root and changes nothing outside DEST.
END
}

readonly suite=trixie
work=''

fail() {
  echo "fetch-mbedtls-3.6.sh: $1" >&2
  exit 1
}

# Prints "URI FILE:ENTRY": where the machine's own packages come from, and which list says so.
own_entry() {
  local codename
  # shellcheck source=/dev/null
  codename="$(source /etc/os-release && echo "${VERSION_CODENAME-}")"
  # shellcheck disable=SC2016  # the fields are apt's
  apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI) $(SOURCESENTRY)' \
    'Created-By: Packages' 'Component: main' |
    awk -v releases="^(${codename}|oldstable|stable)$" \
      '$1 ~ releases && !found { found = 1; print $2, $3 }'
}

# own_key FILE: prints the file named by the first Signed-By in a list of sources, if one is.
own_key() {
  sed -nE 's/^([^#]*[[ ])?signed-by[=:][[:space:]]*(\/[^] ,]+).*/\2/Ip' "$1" | head -n 1
}

# write_source URI KEY: the one entry that the private apt knows.
write_source() {
  printf '%s\n' 'Types: deb-src' "URIs: $1" "Suites: ${suite}" 'Components: main'
  [[ -z "$2" ]] || printf '%s\n' "Signed-By: $2"
}

# Runs apt-get with lists, cache and state of its own.
private_apt_get() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="${work}/sources" \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State="${work}/state" -o Dir::State::status="${work}/status" \
    -o Dir::Cache="${work}/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" \
    -o APT::Update::Error-Mode=any "$@"
}

main() {
  local dest="$1" entry uri key
  [[ ! -d "${dest}/mbedtls-3.6" ]] || return 0
  command -v apt-get > /dev/null || fail 'there is no apt on this system'
  command -v dpkg-source > /dev/null || fail 'dpkg-source is missing (package dpkg-dev)'
  entry="$(own_entry)"
  [[ -n "${entry}" ]] || fail "the sources of this machine's apt name no Debian archive"
  uri="${entry%% *}"
  key="$(own_key "$(sed -E 's/^[^ ]+ (.*):[0-9]+$/\1/' <<< "${entry}")")"

  mkdir -p "${dest}"
  dest="$(cd "${dest}" && pwd)"
  work="$(mktemp -d "${dest}/fetch.XXXXXX")"
  trap 'rm -rf "${work}"' EXIT
  mkdir -p "${work}"/{sources,state/lists/partial,cache/archives/partial,download}
  touch "${work}/status"
  write_source "${uri}" "${key}" > "${work}/sources/own.sources"

  private_apt_get update || fail "cannot read the lists of ${suite} from ${uri}"
  cd "${work}/download"
  private_apt_get source --download-only mbedtls || fail 'cannot download the source of Mbed TLS'
  # apt has checked the files against the signed lists; dpkg-source need not.
  dpkg-source --no-check -x ./mbedtls_3.6.*.dsc "${work}/mbedtls-3.6" > /dev/null ||
    fail "${suite} offers no Mbed TLS 3.6: $(echo ./*.dsc)"
  mv "${work}/mbedtls-3.6" "${dest}/mbedtls-3.6"
}

case "$#:${1-}" in
  1:-h | 1:--help) usage ;;
  1:[!-]*) main "$1" ;;
  *)
    usage >&2
    exit 2
    ;;
esac
