# Installs packages through apt where that is possible. To be sourced by bash scripts.
#
# Debian and Ubuntu: what is missing is installed, by root directly, by others through sudo.
# Elsewhere: the packages are named and the caller goes on with what it finds.
# The names are Debian's.
# shellcheck shell=bash

# What `sotto` and `sotto-client` are built from. They upgrade no package that is there; only a compiler that is not
# there yet may upgrade the C library.
# shellcheck disable=SC2034  # used by the scripts that source this file
BUILD_PACKAGES=(cmake ninja-build g++ libeigen3-dev libkissfft-dev libmbedtls-dev nanopb
  libnanopb-dev libcli11-dev libfmt-dev libsqlite3-dev nlohmann-json3-dev zlib1g-dev libuv1-dev
  libtomlplusplus-dev libsodium-dev libcsv-dev libzip-dev)

# What only some formats and services need: the page and the metrics, MATLAB files, recordings, ONNX, PostgreSQL. A program
# without them says which of them an option needs.
# shellcheck disable=SC2034
OPTIONAL_PACKAGES=(libmicrohttpd-dev prometheus-cpp-dev libmatio-dev libsndfile1-dev libonnx-dev libprotobuf-dev libpq-dev)

# Installed in a separate call: one name that apt does not know fails a whole call.
# shellcheck disable=SC2034
DATA_PACKAGE=dataset-fashion-mnist

package_lists_are_fresh=false

# Prints the named packages that are not installed.
missing_packages() {
  local name
  for name in "$@"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "${name}" 2> /dev/null)" == installed ]] ||
      printf '%s\n' "${name}"
  done
}

# Runs apt-get as root, with sudo's password question where one is due.
apt_get() {
  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# Installs the named packages that are missing. Does nothing where there is no apt.
# Returns non-zero, after saying what to do, if packages stay missing.
install_packages() {
  if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
    echo "No apt on this system; these must be there (Debian's names): $*" >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} > 0)) || return 0
  local instruction="apt-get install --no-install-recommends ${missing[*]}"
  if ((EUID != 0)) && ! command -v sudo > /dev/null; then
    echo "Packages are missing. As root, run: ${instruction}" >&2
    return 1
  fi
  echo "Installing: ${missing[*]}" >&2
  if ! ${package_lists_are_fresh}; then
    apt_get update -q >&2 || echo "apt-get update failed; trying with the lists at hand" >&2
    package_lists_are_fresh=true
  fi
  if ! apt_get install -y -q --no-install-recommends "${missing[@]}" >&2; then
    echo "Packages could not be installed. As root, run: ${instruction}" >&2
    return 1
  fi
}
