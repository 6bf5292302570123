#!/usr/bin/env bash
# A live fleet on this machine: a server, four devices, each with its own key, two rounds over TLS.
set -euo pipefail

usage() {
  cat << 'END'
Usage: examples/quickstart/live_fleet.sh BIN_DIR OUT_DIR

Runs the programs of BIN_DIR (sotto, sotto-client) on Fashion-MNIST and leaves key files, the
server's store and the logs in OUT_DIR, which is emptied first. The port is any free one.
END
}

if (($# != 2)); then
  usage >&2
  exit 2
fi
bin="$1" out="$2"
data=/usr/share/datasets/fashion-mnist
rm -rf "${out}"
mkdir -p "${out}"
cd "${out}"

echo "== a live fleet of 4 devices, over TLS" >&2
"${bin}/sotto" keys new fleet.db --count 4 --prefix pi- --out keys >&2
"${bin}/sotto" serve fleet.db --once --cohort 2 --rounds 2 --noise-multiplier 1 --close-early \
  --listen 127.0.0.1:0 --port-file port --json serve.json 2>&1 | tee server.log >&2 &
server=$!
for ((i = 0; i < 300; i++)); do
  [[ ! -s port ]] || break
  sleep 0.1
done
for i in 0 1 2 3; do
  "${bin}/sotto-client" --once --server "127.0.0.1:$(cat port)" --key "keys/pi-00000${i}.key" \
    --samples "$((50 * i)):50" --data "${data}/train-images-idx3-ubyte.gz" \
    --labels "${data}/train-labels-idx1-ubyte.gz" --give-up 60 2> "client${i}.log" &
done
wait "${server}"
wait
grep -q '"rounds_released": 2' serve.json
