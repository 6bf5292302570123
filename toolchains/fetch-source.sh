#!/usr/bin/env bash
# Fetches third-party sources into a cache folder: Debian's source packages, and packages of npm.
set -euo pipefail

usage() {
  cat << 'END'
Usage: toolchains/fetch-source.sh DEST SUITE PACKAGE=VERSION...

Puts each source package of Debian's SUITE (bookworm, trixie) into DEST/PACKAGE-VERSION, unpacked and
with Debian's patches; skips a package that is there already. VERSION is the beginning of the version
that the suite must offer: mbedtls=2.28. The archive's address and its key come from this machine's
apt sources (Debian), and apt verifies the download. SUITE npm stands for the registry of npm
($npm_config_registry, or https://registry.npmjs.org); this script has the SHA-512 of each file from
there. Needs no root and changes nothing outside DEST.

For cross builds:         toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7
For sotto-client on Arm:  toolchains/fetch-source.sh build/cache bookworm zlib=1.2.13 libcsv=3.0.3
For sotto-tab.html:       the two above, and kissfft=131.1.0
For tls_test_mbedtls3:    toolchains/fetch-source.sh build/cache trixie mbedtls=3.6
For charts in pages:      toolchains/fetch-source.sh build/cache npm uplot=1.6.32
END
}

dest=''
work=''

fail() {
  echo "fetch-source.sh: $1" >&2
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

# write_source SUITE URI KEY: the one entry that the private apt knows.
write_source() {
  printf '%s\n' 'Types: deb-src' "URIs: $2" "Suites: $1" 'Components: main'
  [[ -z "$3" ]] || printf '%s\n' "Signed-By: $3"
}

# Runs apt-get with separate lists, cache and state.
private_apt_get() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="${work}/sources" \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State="${work}/state" -o Dir::State::status="${work}/status" \
    -o Dir::Cache="${work}/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" \
    -o APT::Update::Error-Mode=any "$@"
}

# prepare_apt SUITE: reads the suite's lists into the work folder.
prepare_apt() {
  local entry uri key
  entry="$(own_entry)"
  [[ -n "${entry}" ]] || fail "the sources of this machine's apt name no Debian archive"
  uri="${entry%% *}"
  key="$(own_key "$(sed -E 's/^[^ ]+ (.*):[0-9]+$/\1/' <<< "${entry}")")"
  mkdir -p "${work}"/{sources,state/lists/partial,cache/archives/partial}
  touch "${work}/status"
  write_source "$1" "${uri}" "${key}" > "${work}/sources/own.sources"
  private_apt_get update || fail "cannot read the lists of $1 from ${uri}"
}

# fetch PACKAGE VERSION: unpacks the package into DEST/PACKAGE-VERSION.
fetch() {
  local name="$1-$2"
  mkdir "${work}/${name}"
  cd "${work}/${name}"
  private_apt_get source --download-only "$1" || fail "cannot download the source of $1"
  # apt has checked the files against the signed lists; dpkg-source need not.
  dpkg-source --no-check -x ./"$1_$2"[.+-]*.dsc source > /dev/null ||
    fail "the suite offers no $1 $2: $(echo ./*.dsc)"
  mv source "${dest}/${name}"
}

# The hash of a package of npm: the hexadecimal form of `npm view NAME@VERSION dist.integrity`.
npm_hash() {
  case "$1" in
    uplot-1.6.32)
      echo 'SHA512:2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023'
      ;;
    *) fail "this script knows no hash of $1 of npm" ;;
  esac
}

# fetch_npm PACKAGE VERSION: the same from npm's registry. apt-helper compares the hash.
fetch_npm() {
  local name="$1-$2" hash
  hash="$(npm_hash "${name}")"
  /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User="$(id -un)" download-file \
    "${npm_config_registry:-https://registry.npmjs.org}/$1/-/${name}.tgz" "${work}/${name}.tgz" \
    "${hash}" || fail "cannot download ${name} of npm"
  mkdir "${work}/${name}"
  tar -xzf "${work}/${name}.tgz" -C "${work}/${name}" --strip-components=1 --no-same-owner
  mv "${work}/${name}" "${dest}/${name}"
}

main() {
  local suite="$2" spec missing=()
  dest="$1"
  for spec in "${@:3}"; do
    [[ "${spec}" == ?*=?* ]] || fail "${spec} is not PACKAGE=VERSION"
    [[ -d "${dest}/${spec/=/-}" ]] || missing+=("${spec}")
  done
  ((${#missing[@]} > 0)) || return 0
  command -v apt-get > /dev/null || fail 'there is no apt on this system'

  mkdir -p "${dest}"
  dest="$(cd "${dest}" && pwd)"
  work="$(mktemp -d "${dest}/fetch.XXXXXX")"
  trap 'rm -rf "${work}"' EXIT
  if [[ "${suite}" == npm ]]; then
    for spec in "${missing[@]}"; do fetch_npm "${spec%%=*}" "${spec#*=}"; done
    return
  fi
  command -v dpkg-source > /dev/null || fail 'dpkg-source is missing (package dpkg-dev)'
  prepare_apt "${suite}"
  for spec in "${missing[@]}"; do fetch "${spec%%=*}" "${spec#*=}"; done
}

case "$#:${1-}" in
  1:-h | 1:--help) usage ;;
  [0-2]:* | *:-*)
    usage >&2
    exit 2
    ;;
  *) main "$@" ;;
esac
