#!/usr/bin/env bash
# page_blocks.sh SOURCE_DIR WORK_DIR CXX
# What the pages show compiles or is run. Each fenced block names its language:
#   cpp            compiled here, on its own, against the SDK; ports/PORTING.md also against the template
#   cmake          the test consumer's (policy.install), the one in ports/PORTING.md (policy.porting_project), a user's
#                  board (board.bring_up), own methods (policy.research), or the one of sdk/DEVICE.md that takes the archive (packages.fetch_content)
#   sh, console    policy.page_commands, or the test that follows the whole page
#   bash           a session of several shells, which the test named below plays
#   toml           Python reads it (policy.toml_files); lines of ports/posix/client/README.md
#                  (e2e.client_readme), or a file that begins with its name (policy.page_commands)
#   csv NAME       a data file that the page's commands read (policy.page_commands)
#   python NAME    a script of server/YOUR_DATA.md or SIGNALS.md, which e2e.your_data and e2e.signals run with their page;
#                  e2e.other_formats runs the scripts for other formats
#   python         the loader of server/EXPORT.md (cli_test, Export.TheLoaderOfThePageReadsAModel), or a part of
#                  toolchains/package/python/README.md (e2e.python)
#   text           a figure or a table: not code. A sketch of code says that it is not compiled
# sdk/DEVICE.md shows examples/minimal/main.cc, character for character. README.md is at most 90 lines long.
set -euo pipefail
source_dir="$1" work="$2" cxx="$3"
# shellcheck source-path=SCRIPTDIR source=pages.sh
source "$(dirname "${BASH_SOURCE[0]}")/pages.sh"
rm -rf "${work}"
mkdir -p "${work}"
status=0

complain() {
  echo "${page}: block ${block##*/}: $1"
  status=1
}

compile() {
  local includes=(-I "${source_dir}/sdk/include")
  [[ "${page}" != ports/PORTING.md ]] || includes+=(-I "${source_dir}/ports/template/include"
    -I "${source_dir}/ports/conformance/include")
  "${cxx}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ "${includes[@]}" "${block}" ||
    complain "does not compile"
}

check_cmake() {
  [[ "${page}" == ports/PORTING.md || "${page}" == examples/bring_up/README.md ||
    "${page}" == examples/research/README.md ]] ||
    { [[ "${page}" == sdk/DEVICE.md ]] && grep -q '^FetchContent_Declare' "${block}"; } ||
    diff -u "${source_dir}/tests/policy/consumer/CMakeLists.txt" "${block}" ||
    complain "is not tests/policy/consumer/CMakeLists.txt"
}

check_bash() {
  case "${page}" in
    server/CLUSTER.md) ;;             # e2e.ranks
    server/EXPERIMENTS.md) ;;         # cli_test: Experiment.ASlurmArrayAndItsMergeGiveTheReportOfTheWhole
    server/PEERS.md) ;;               # e2e.directory
    server/SERVE.md) ;;               # e2e.serve_session
    server/SIGNALS.md) ;;             # e2e.signals
    server/STANDBY.md) ;;             # e2e.standby
    server/YOUR_DATA.md) ;;           # e2e.your_data
    examples/bring_up/README.md) ;;   # board.bring_up
    examples/classify/README.md) ;;   # board.classify
    examples/cortex_m/README.md) ;;   # board.readme
    examples/research/README.md) ;;   # policy.research
    examples/vibration/README.md) ;;  # e2e.vibration
    examples/wake_word/README.md) ;;  # e2e.wake_word
    *) complain "no test plays the sessions of this page: use sh" ;;
  esac
}

check_text() {
  [[ "${page}" != ports/PORTING.md ]] || head -n 1 "${block}" | grep -q '(a sketch, not compiled here)$' ||
    complain "its first line does not say that it is a sketch"
}

shows_example=false
compiled=0
while IFS= read -r page; do
  block=''
  folder="${work}/${page//\//_}"
  extract_blocks "${page}" "${folder}" || complain "a fence is not closed"
  for block in "${folder}"/*; do
    [[ -e "${block}" ]] || continue
    case "${block}" in
      *.cpp)
        compile
        compiled=$((compiled + 1))
        [[ "${page}" != sdk/DEVICE.md ]] || ! cmp -s "${block}" "${source_dir}/examples/minimal/main.cc" ||
          shows_example=true
        ;;
      *.cmake) check_cmake ;;
      *.sh | *.console) ;;
      *.bash) check_bash ;;
      *.toml)
        [[ "${page}" == ports/posix/client/README.md ]] || head -n 1 "${block}" |
          grep -qE '^# [a-z]+\.toml$' || complain "no test reads it"
        ;;
      *.csv\ *.csv) ;;
      *.python\ *.py) [[ "${page}" =~ ^server/(YOUR_DATA|SIGNALS)\.md$ ]] || complain "no test runs it" ;;
      *.python) [[ "${page}" =~ ^(server/EXPORT|toolchains/package/python/README)\.md$ ]] || complain "no test runs it" ;;
      *.text) check_text ;;
      *) complain "the languages are cpp, cmake, sh, bash, console, toml, csv NAME, python and text" ;;
    esac
  done
done < <(list_pages)

if ! ${shows_example}; then
  echo "sdk/DEVICE.md: no cpp block is examples/minimal/main.cc, character for character"
  status=1
fi
if (($(wc -l < "${source_dir}/README.md") > 90)); then
  echo "README.md: more than 90 lines"
  status=1
fi
((compiled >= 3)) || {
  echo "only ${compiled} blocks compiled: is this the source folder?"
  status=1
}
exit "${status}"
