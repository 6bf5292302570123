#!/usr/bin/env bash
# shell_scripts.sh SOURCE_DIR
# Every shell script parses, and ShellCheck, if it is installed, finds nothing.
set -euo pipefail
cd "$1"
mapfile -t scripts < <(find .ci sdk ports server examples tests toolchains \
  \( -name '*.sh' -o -path '.ci/run' \) | sort)
((${#scripts[@]} > 0))
for script in "${scripts[@]}"; do bash -n "${script}"; done
if command -v shellcheck > /dev/null; then
  shellcheck -x "${scripts[@]}"
else
  echo "ShellCheck is not installed; syntax only"
fi
