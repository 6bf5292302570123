#!/usr/bin/env bash
# readme_commands.sh SOURCE_DIR WORK_DIR SOTTO
# README.md tells the truth about commands. Those of `sotto` in sh and console blocks are run here, and
# a console block shows lines of the real output; each other command is one that the test named
# beside it runs. Options and JSON fields that it names exist, and no JSON field is left out.
# Skipped, 77, where Fashion-MNIST is not installed.
# shellcheck disable=SC2016  # the backquotes are those of README.md
set -euo pipefail
source_dir="$1" work="$2" sotto="$3"
readme="${source_dir}/README.md"
if [[ ! -d /usr/share/datasets/fashion-mnist ]]; then
  echo "skipped: no Fashion-MNIST (package dataset-fashion-mnist)"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
status=0

complain() {
  echo "README.md: $1"
  status=1
}

# Runs "build/host/bin/sotto ARGUMENT..." with the program under test; output to output.txt.
run_sotto() {
  local words
  read -ra words <<< "$1"
  echo "run: $1"
  "${sotto}" "${words[@]:1}" > output.txt 2>&1 || complain "this fails: $1: $(cat output.txt)"
}

# Lines "command ..." of sh blocks and "$ ..." of console blocks, each with the lines shown below it.
awk '
  /^```(sh|console)$/ { kind = substr($0, 4); next }
  /^```/ { kind = "" }
  kind == "sh" && NF { sub(/[ \t]+#.*$/, ""); print "$ " $0 }
  kind == "console" { print }' "${readme}" > transcript.txt
[[ -s transcript.txt ]] || complain "no commands found"

while IFS= read -r line; do
  case "${line}" in
    '$ build/host/bin/sotto '*) run_sotto "${line#'$ '}" ;;
    '$ examples/quickstart/run.sh') ;;                                    # e2e.quickstart
    '$ tests/run.sh') ;;                                                  # runs this test
    '$ cmake --preset host' | '$ cmake --build --preset host') ;;         # tests/run.sh
    '$ toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13') ;;  # tests/run.sh
    '$ cmake --install build/host --prefix '*) ;;                         # policy.install
    '$ '*) complain "no test runs: ${line#'$ '}" ;;
    *) grep -qxF -e "${line}" output.txt || complain "the last command does not print: ${line}" ;;
  esac
done < transcript.txt

"${sotto}" simulate --help > help.txt
while IFS= read -r option; do
  grep -q -e "^  ${option} " help.txt || complain "sotto simulate has no option ${option}"
done < <(grep -oE '^\|( `--[a-z-]+`,?)+ \|' "${readme}" | grep -oE -e '--[a-z-]+')

# results.json is written by one of the commands above.
sed -nE 's/^ *"([a-z0-9_]+)": .*/\1/p' results.json | sort -u > fields.txt
sed -n '/^| fields | meaning |$/,/^$/p' "${readme}" | grep -oE '`[a-z0-9_]+`' | tr -d '`' |
  grep -vx null | sort -u > named_fields.txt
diff fields.txt named_fields.txt || complain "the JSON fields are not those of results.json (above, <)"
exit "${status}"
