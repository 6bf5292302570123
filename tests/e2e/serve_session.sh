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
sed -i "s#build/host/bin/#${bin}/#" block1.sh block2.sh
sed -i 's#sotto serve #sotto serve --listen 127.0.0.1:0 --port-file port --model-out model.f32 #' block1.sh

bash -e block1.sh > server.txt 2>&1 &
server=$!
trap 'kill ${server} 2> /dev/null || true' EXIT
for ((i = 0; i < 300; i++)); do
  [[ ! -s port ]] || break
  sleep 0.1
done
sed -i "s#127.0.0.1:7177#127.0.0.1:$(cat port)#" block2.sh
bash -e block2.sh > clients.txt 2>&1
trap - EXIT
wait "${server}" || {
  cat server.txt clients.txt
  echo "FAILED: the server"
  exit 1
}
cat server.txt
grep -q 'all 2 rounds of the plan are released' server.txt
[[ "$(stat -c %s model.f32)" == 31400 ]]
[[ "$(stat -c %a fleet.db)" == 600 ]]
