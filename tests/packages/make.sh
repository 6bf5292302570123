#!/usr/bin/env bash
# make.sh SOURCE_DIR WORK_DIR SOTTO
# Makes the packages from a copy of this checkout in another folder, with other times, time zone, locale, umask and hashes of
# Python. This checkout makes the same bytes: --check says so. A package that was changed, a missing one and missing
# sources are found. The manifests are what their specifications ask for.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cache="${source_dir}/build/cache"
package="${source_dir}/toolchains/package.py"
for needed in nanopb-0.4.7 mbedtls-2.28; do
  [[ -d "${cache}/${needed}" ]] || {
    echo "skipped: no build/cache/${needed} (toolchains/fetch-source.sh)"
    exit 77
  }
done

rm -rf "${packages}"
mkdir copy
cp -r "${source_dir}"/{LICENSE,examples,ports,sdk,toolchains} copy
find copy -exec touch -d 2001-02-03 {} +
(cd / && umask 077 && TZ=Asia/Tokyo LC_ALL=C PYTHONHASHSEED=7 HOME=/ "${work}/copy/toolchains/package.py" \
  --cache "${cache}" --out "${work}/again")
"${package}" --out again --check
/usr/bin/python3 "${source_dir}/tests/packages/manifests.py" again
cp -r again "${packages}"

# refused TEXT OPTION...: package.py fails and says the text.
refused() {
  if "${package}" "${@:2}" > refused.log 2>&1; then
    echo "package.py takes: ${*:2}"
    exit 1
  fi
  grep -q "$1" refused.log || {
    cat refused.log
    exit 1
  }
}
echo >> again/sotto-arduino-*.zip
refused 'is not what this checkout makes' --out again --check
rm again/sotto-sdk-*
refused 'is missing; make it' --out again --check
refused 'there is no nowhere/nanopb-0.4.7; fetch it: ' --cache nowhere
