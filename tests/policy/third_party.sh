#!/usr/bin/env bash
# third_party.sh SOURCE_DIR
# The files of others are those that their packages have, and each folder says which, and its licence.
set -euo pipefail
cd "$1/server/third_party"
folders=0
for folder in */; do
  folders=$((folders + 1))
  for file in LICENSE VERSION SHA256SUMS; do
    [[ -s "${folder}${file}" ]] || { echo "${folder}${file} is missing"; exit 1; }
  done
  (cd "${folder}" && sha256sum --check --quiet SHA256SUMS)
  others="$(cd "${folder}" && find . -type f ! -name VERSION ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort)"
  listed="$(awk '{ print $2 }' "${folder}SHA256SUMS")"
  [[ "${others}" == "${listed}" ]] || { echo "${folder}: SHA256SUMS does not list: ${others}"; exit 1; }
done
((folders > 0))
