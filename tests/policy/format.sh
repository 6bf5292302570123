#!/usr/bin/env bash
# format.sh SOURCE_DIR
# Every C++ file is as clang-format 14 leaves it. Another version formats otherwise: skipped, 77.
# clang-format leaves comments alone, since it breaks tables and examples; this test keeps them within
# 100 columns.
set -euo pipefail
cd "$1"
formatter="$(command -v clang-format-14 || command -v clang-format || true)"
if [[ -z "${formatter}" ]] || ! "${formatter}" --version | grep -q 'version 14\.'; then
  echo "skipped: no clang-format of version 14"
  exit 77
fi
# The header of a model is as the program prints it.
mapfile -d '' files < <(find sdk ports server examples tests \( -name '*.h' -o -name '*.cc' \) \
  -not -path 'examples/minimal_c/model_*' -print0)
printf '%s\0' "${files[@]}" | xargs -0 "${formatter}" --dry-run -Werror
if grep -nE '^.{101,}' "${files[@]}" | grep //; then
  echo "comments longer than 100 columns, above"
  exit 1
fi
