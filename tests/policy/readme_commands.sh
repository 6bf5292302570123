#!/usr/bin/env bash
# readme_commands.sh SOURCE_DIR WORK_DIR SOTTO
# Every command in README.md's sh blocks works: those of `sotto` are run here, each of the others is
# one that the test named beside it runs.
set -euo pipefail
source_dir="$1" work="$2" sotto="$3"
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"

mapfile -t commands < <(awk '
  /^```sh$/ { inside = 1; next }
  /^```/ { inside = 0 }
  inside && NF { sub(/[ \t]+#.*$/, ""); print }' "${source_dir}/README.md")
((${#commands[@]} > 0))

status=0
for command in "${commands[@]}"; do
  case "${command}" in
    'build/host/bin/sotto '*)
      read -ra words <<< "${command}"
      echo "run: ${command}"
      "${sotto}" "${words[@]:1}" > output.txt 2>&1 || { cat output.txt; status=1; }
      ;;
    examples/quickstart/run.sh) ;;                                                # e2e.quickstart
    tests/run.sh | 'tests/run.sh --quick') ;;                                     # runs this test
    'cmake --preset host' | 'cmake --build --preset host') ;;                     # tests/run.sh
    'cmake --preset cortex-m4' | 'cmake --build --preset cortex-m4') ;;           # tests/run.sh
    'cmake --install build/host --prefix '*) ;;                                   # policy.install
    *)
      echo "README.md: no test runs: ${command}"
      status=1
      ;;
  esac
done
exit "${status}"
