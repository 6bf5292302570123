#!/usr/bin/env bash
# page_commands.sh SOURCE_DIR WORK_DIR SOTTO SOTTO_LAB SOTTO_CLIENT SOTTO_SHARD SOTTO_GATEWAY
# The pages tell the truth about commands. Commands of `sotto` and `sotto-lab` in sh and console blocks
# are run here, and a console block shows lines of the real output; each other command is one that the
# test named beside it runs. Options that a page names exist. The JSON fields of server/FIGURES.md are in
# results files, no more and no fewer. The packages of toolchains/BUILDING.md are those that the scripts
# install.
# Skipped, 77, where Fashion-MNIST is not installed.
# shellcheck disable=SC2016  # the pages have the backquotes
set -euo pipefail
source_dir="$1" work="$2" sotto="$3" lab="$4" client="$5" shard="$6" gateway="$7"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
if [[ ! -d /usr/share/datasets/fashion-mnist ]]; then
  echo "skipped: no Fashion-MNIST (package dataset-fashion-mnist)"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
status=0

complain() {
  echo "$1"
  status=1
}

# run_command PROGRAM COMMAND: runs "build/host/bin/sotto ARGUMENT..." with the program under test, once
# for all pages; `output` is the file with what it printed.
declare -A outputs=()
run_command() {
  local words
  output="${outputs[$2]-}"
  [[ -z "${output}" ]] || return 0
  output="output${#outputs[@]}.txt"
  outputs[$2]="${output}"
  read -ra words <<< "$2"
  echo "run: $2"
  "$1" "${words[@]:1}" > "${output}" 2>&1 || complain "${page}: this fails: $2: $(cat "${output}")"
}

# Prints the commands of a page's sh blocks as "$ command" without their comments, and its console
# blocks as they are.
transcript() {
  awk '
    /^```(sh|console)$/ { kind = substr($0, 4); next }
    /^```/ { kind = "" }
    kind == "sh" && NF { sub(/[ \t]+#.*$/, ""); print "$ " $0 }
    kind == "console" { print }' "${source_dir}/$1"
}

commands=0
check_commands() {
  local line
  output=/dev/null
  while IFS= read -r line; do
    commands=$((commands + 1))
    case "${line}" in
      '$ build/host/bin/sotto '*) run_command "${sotto}" "${line#'$ '}" ;;
      '$ build/host/bin/sotto-lab data fetch '*) ;;                  # cli_test, DataFetch
      '$ build/host/bin/sotto-lab '*) run_command "${lab}" "${line#'$ '}" ;;
      '$ examples/quickstart/run.sh') ;;                             # e2e.quickstart
      '$ tests/run.sh') ;;                                           # runs this test
      '$ cmake --preset host' | '$ cmake --build --preset host') ;;  # tests/run.sh
      '$ toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13 libcsv=3.0.3 kissfft=131.1.0') ;;  # tests/run.sh
      '$ cmake --preset tab' | '$ cmake --build --preset tab') ;;   # packages.tab
      '$ toolchains/fetch-source.sh build/cache npm uplot=1.6.32') ;;  # the quickstart
      '$ toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7') ;;  # the same as a part of the first
      '$ toolchains/package.py') ;;                                    # packages.make
      '$ sudo apt-get install --no-install-recommends debhelper dpkg-dev') ;;  # packages.debian, and the next two
      '$ dpkg-buildpackage --build=binary --no-sign' | '$ sudo apt-get install ../sotto_*.deb ../sotto-client_*.deb') ;;
      '$ cmake --install build/host --prefix '*) ;;                  # policy.install
      '$ build/host/bin/faults --seeds 1..500') ;;                   # faults.500
      '$ build/host/bin/faults --seeds 1..100000') ;;                # the same for longer
      '$ build/host/bin/faults --trace 1') ;;                        # faults.trace
      '$ '*) complain "${page}: no test runs: ${line#'$ '}" ;;
      *) grep -qxF -e "${line}" "${output}" ||
        complain "${page}: the last command does not print: ${line}" ;;
    esac
  done < <(transcript "${page}")
}

while IFS= read -r page; do
  case "${page}" in
    ports/PORTING.md) ;;               # policy.porting_project
    ports/posix/client/README.md) ;;   # e2e.client_readme
    server/HOSTING.md) ;;              # e2e.hosting
    toolchains/package/sdk/README.md) ;;  # packages.flat
    toolchains/package/python/README.md) ;;  # e2e.python
    toolchains/release/README.md) ;;   # packages.release
    server/CLUSTER.md) ;;              # e2e.ranks
    server/STANDBY.md) ;;              # e2e.standby
    server/YOUR_DATA.md) ;;            # e2e.your_data
    examples/vibration/README.md) ;;   # e2e.vibration
    examples/wake_word/README.md) ;;   # e2e.wake_word
    *)
      write_page_files "${page}" "models/${page//\//_}" || complain "${page}: a model file without a name"
      check_commands
      ;;
  esac
done < <(list_pages)
((commands >= 20)) || complain "only ${commands} commands found: are these the pages?"

# subcommands PROGRAM [COMMAND]: prints the subcommands of a program, or of one of its commands.
subcommands() {
  "$@" --help | awk '
    /^Subcommands:/ { inside = 1; next }
    !NF { inside = 0 }
    inside && /^  [a-z]/ { print $1 }'
}

# The options that the pages name in backquotes must be options of the programs and the scripts.
{
  for program in "${sotto}" "${lab}"; do
    "${program}" --help
    for command in $(subcommands "${program}"); do
      "${program}" "${command}" --help
      for subcommand in $(subcommands "${program}" "${command}"); do
        "${program}" "${command}" "${subcommand}" --help
      done
    done
  done
  "${client}" --help
  "${shard}" --help
  "${gateway}" --help
  "${source_dir}/toolchains/package.py" --help
  cat "${source_dir}"/toolchains/release/release.sh "${source_dir}"/tests/packages/tab_checks.py
  cat "${source_dir}"/tests/{run.sh,size/table.sh,instructions/*.sh,device/call_graph.py,e2e/faults.py,faults/main.cc}
} | grep -oE -e '--[a-z][a-z0-9-]*' | sort -u > options.txt
# Options of other people's commands.
printf '%s\n' --cflags --component --gc-sections --install --libs --no-check-builddeps --no-sign --preset --pwprompt \
  --volumes >> options.txt
while IFS= read -r page; do
  while IFS= read -r option; do
    grep -qxF -e "${option}" options.txt || complain "${page}: no program has the option ${option}"
  done < <(grep -oE '`[^`]*`' "${source_dir}/${page}" | grep -oE -e '(^|[^a-z-])--[a-z][a-z0-9-]*' |
    grep -oE -e '--.*' | sort -u)
done < <(list_pages)

# Three of the commands above write these files: one run clips adaptively, one evaluates on devices, and one has
# personal layers, so together they have every field. The job is described in server/OPTIONS.md.
awk '/^  "job": \{$/ { print; inside = 1 } /^  \}/ { inside = 0 } !inside' results.json devices.json personal.json |
  sed -nE 's/^ *"([a-z0-9_]+)": .*/\1/p' | sort -u > fields.txt
sed -n '/^| fields | meaning |$/,/^$/p' "${source_dir}/server/FIGURES.md" | grep -oE '`[a-z0-9_]+`' | tr -d '`' |
  grep -vx null | sort -u > named_fields.txt
diff fields.txt named_fields.txt ||
  complain "server/FIGURES.md: its JSON fields differ from results.json, devices.json and personal.json (above, <)"

# package_names: words that stand for packages in the arrays and calls of the two scripts.
package_names() {
  sed -nE '/_PACKAGES=\(/,/\)/p; /^DATA_PACKAGE=/p; /packages(\+?=\(|\+=)/,/\)/p; /install_packages /p' \
    "${source_dir}/examples/quickstart/packages.sh" "${source_dir}/tests/run.sh" |
    sed 's/#.*//' | grep -oE '[a-z][a-z0-9+-]*[a-z0-9+]' | sort -u
}
package_names > installed.txt
sed -n '/^| for | Debian package |/,/^$/p' "${source_dir}/toolchains/BUILDING.md" | grep -oE '`[a-z0-9+-]+`' |
  tr -d '`' | sort -u > named_packages.txt
(($(wc -l < named_packages.txt) > 20)) || complain "toolchains/BUILDING.md: no table of packages"
while IFS= read -r name; do
  grep -qxF -e "${name}" installed.txt ||
    complain "toolchains/BUILDING.md: neither packages.sh nor tests/run.sh installs ${name}"
done < named_packages.txt
# shellcheck source-path=SCRIPTDIR source=../../examples/quickstart/packages.sh
source "${source_dir}/examples/quickstart/packages.sh"
for name in "${BUILD_PACKAGES[@]}" "${OPTIONAL_PACKAGES[@]}" "${DATA_PACKAGE}"; do
  grep -qxF -e "${name}" named_packages.txt || complain "toolchains/BUILDING.md: the table lacks ${name}"
done
exit "${status}"
