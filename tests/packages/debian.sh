#!/usr/bin/env bash
# debian.sh SOURCE_DIR WORK_DIR BUILD_DIR
# The Debian packages, from the programs of BUILD_DIR: lintian finds no error, the manual pages and completions are of use,
# and in a clean system that mmdebstrap makes, as root, they are installed, run a job and compile a firmware, are upgraded
# while a server has its store, removed and purged. The store stays.
# Skipped, 77, without dpkg-buildpackage or debhelper, and where mmdebstrap fails, as without a network; what needs lintian or
# mmdebstrap, by name.
set -euo pipefail
source_dir="$1" work="$2" build="$3"
for program in dpkg-buildpackage dh man; do
  command -v "${program}" > /dev/null || {
    echo "skipped: no ${program} (packages dpkg-dev, debhelper, man-db)"
    exit 77
  }
done
rm -rf --one-file-system "${work}"
mkdir -p "${work}/source"
cd "${work}"
for file in "${source_dir}"/*; do [[ "${file##*/}" == build ]] || cp -a "${file}" source/; done
fail() {
  echo "FAILED: $1"
  exit 1
}

(cd source && SOTTO_BUILD="${build}" dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) > build.log 2>&1 || {
  tail -n 40 build.log
  fail 'dpkg-buildpackage'
}
version="$(dpkg-parsechangelog -l source/debian/changelog -S Version)"
arch="$(dpkg --print-architecture)"
for package in sotto sotto-lab sotto-client libsotto-dev sotto-doc; do
  ls "${package}_${version}"_*.deb > /dev/null
done

if command -v lintian > /dev/null; then
  lintian --allow-root --fail-on error --tag-display-limit 0 --profile debian ./*.changes > lintian.txt || {
    grep '^E' lintian.txt
    fail 'lintian'
  }
else
  echo 'NOT TESTED: lintian (package lintian)'
fi
dpkg-deb -x "sotto_${version}_${arch}.deb" unpacked
! grep -rn '/usr/local' unpacked/usr/lib/systemd unpacked/etc || fail 'a unit or a configuration names /usr/local'
man -l unpacked/usr/share/man/man1/sotto-store-copy.1.gz 2> /dev/null | grep -q 'sotto store copy' || fail 'the manual'
# What <TAB> would offer.
# shellcheck disable=SC2317  # compopt is called by the completion
complete_line() (
  # shellcheck source=/dev/null
  source unpacked/usr/share/bash-completion/completions/sotto
  compopt() { :; }
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _sotto
  echo "${COMPREPLY[*]}"
)
[[ "$(complete_line sotto store co)" == copy ]] || fail 'completion of a command'
[[ "$(complete_line sotto store copy --dry)" == --dry-run ]] || fail 'completion of an option'

if ! command -v mmdebstrap > /dev/null || ((EUID != 0)); then
  echo 'NOT TESTED: installation in a clean system (package mmdebstrap, as root)'
  exit 0
fi
# The same release and mirror as this machine, by its own lists of sources. packages.container begins with it, too.
root="${work}/root"
trap 'umount "${root}/proc" 2> /dev/null || true; rm -rf --one-file-system "${root}"' EXIT
lists=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do [[ ! -s "${file}" ]] || lists+=("${file}"); done
mmdebstrap --quiet --variant=minbase --skip=cleanup/apt/lists --aptopt='APT::Install-Recommends "false"' \
  --aptopt='Acquire::Retries "3"' --include=ca-certificates \
  "$(. /etc/os-release && echo "${VERSION_CODENAME}")" base.tar "${lists[@]}" > chroot.log 2>&1 || {
  rm -f base.tar
  tail -n 20 chroot.log
  echo 'skipped: mmdebstrap makes no clean system here; what came before it has passed'
  exit 77
}
mkdir "${root}"
tar -xf base.tar -C "${root}"
inside() { chroot "${root}" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
mount --bind /proc "${root}/proc" 2> /dev/null || true
echo force-unsafe-io > "${root}/etc/dpkg/dpkg.cfg.d/unsafe-io"  # nothing in it outlives the test
mkdir "${root}/packages"
cp ./*.deb "${root}/packages"
cp -a source/debian/tests "${root}/packages/tests"
in_chroot() {
  inside "$@" > step.log 2>&1 || {
    tail -n 30 step.log
    fail "$*"
  }
}
in_chroot apt-get install -y cmake g++ make pkg-config
in_chroot apt-get install -y "/packages/sotto_${version}_${arch}.deb" "/packages/sotto-lab_${version}_${arch}.deb" \
  "/packages/sotto-client_${version}_${arch}.deb" "/packages/libsotto-dev_${version}_${arch}.deb" \
  "/packages/sotto-doc_${version}_all.deb"
[[ "$(inside stat -c '%U %a' /var/lib/sotto)" == 'sotto 700' ]] || fail 'the folder of the store'
in_chroot /packages/tests/job
in_chroot /packages/tests/firmware

# A server has its store while packages of a later version come.
inside runuser -u sotto -- sotto keys new /var/lib/sotto/fleet.db --count 3 > /dev/null
inside runuser -u sotto -- sh -c 'echo $$ > /tmp/server.pid; exec sotto serve /var/lib/sotto/fleet.db --listen 127.0.0.1:0' \
  > served.log 2>&1 &
for ((i = 0; i < 100; i++)); do
  ! grep -q 'listening on' served.log || break
  sleep 0.1
done
for package in sotto sotto-client; do
  dpkg-deb -R "${package}_${version}_${arch}.deb" later
  sed -i "s/^Version: .*/&+later/" later/DEBIAN/control
  dpkg-deb -b later "${root}/packages/${package}_later.deb" > /dev/null
  rm -rf later
done
server="$(cat "${root}/tmp/server.pid")"
in_chroot dpkg -i /packages/sotto_later.deb /packages/sotto-client_later.deb
kill -0 "${server}" || fail 'the upgrade ended the server'
kill "${server}"
wait
inside runuser -u sotto -- sotto account ledger /var/lib/sotto/fleet.db > /dev/null || fail 'the store after the upgrade'

in_chroot dpkg --remove sotto sotto-client
[[ -s "${root}/var/lib/sotto/fleet.db" && -s "${root}/etc/sotto/server.toml" && ! -e "${root}/usr/bin/sotto" ]] ||
  fail 'removal'
in_chroot dpkg --purge sotto sotto-client
[[ -s "${root}/var/lib/sotto/fleet.db" && ! -e "${root}/etc/sotto/server.toml" ]] || fail 'purging'
echo 'ok'
