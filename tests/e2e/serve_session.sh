#!/usr/bin/env bash
# serve_session.sh SOURCE_DIR WORK_DIR BIN_DIR
# The session of server/SERVE.md between a server and its devices, as it stands there: the first bash
# block in one shell, the second in another. Only the port and the folder of the programs are changed.
# Skipped, 77, where Fashion-MNIST is not installed.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
if [[ ! -d /usr/share/datasets/fashion-mnist ]]; then
  echo "skipped: no Fashion-MNIST (package dataset-fashion-mnist)"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"

# The blocks as block1.sh and block2.sh.
awk '
  /^```bash$/ { inside = 1; file = "block" ++count ".sh"; next }
  /^```/ { inside = 0 }
  inside { print > file }
  END { exit count != 2 }' "${source_dir}/server/SERVE.md"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"
play_session block1.sh block2.sh "${bin}"
cat server.txt
grep -q 'all 2 rounds of the plan are released' server.txt
[[ "$(stat -c %s model.f32)" == 31400 ]]
[[ "$(stat -c %a fleet.db)" == 600 ]]
