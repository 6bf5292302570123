#!/usr/bin/env bash
# independent_client.sh SOURCE_DIR WORK_DIR BIN_DIR
# A device in Python that follows server/PROTOCOL.md and sdk/LRQ.md, and shares no code with Sotto's,
# takes part in real jobs:
# - it recomputes the pages' numbers;
# - with two devices of Sotto's own it is the cohort of three rounds, and all three report;
# - as the whole cohort of two rounds it foretells the released model, under each code, with a salt of the
#   server and without: the server takes the same noisy integers out of its updates as it put in;
# - on a grid it foretells it to half a step, and fetches it at the end, bit by bit what the server writes;
# - over a link of small frames in Python, some of which are lost, and sotto-gateway its update arrives, too.
# Skipped, 77, where python3-cryptography or OpenSSL 3 is not installed.
set -euo pipefail
source_dir="$1" work="$2" bin="$3"
# The system's Python, which Debian's packages are for.
python=(/usr/bin/python3 -B)
client="${source_dir}/tests/e2e/independent_client.py"
needs='import cryptography.hazmat.primitives.ciphers, ctypes; ctypes.CDLL("libssl.so.3")'
if ! "${python[@]}" -c "${needs}" > /dev/null 2>&1; then
  echo "skipped: /usr/bin/python3 lacks python3-cryptography or libssl.so.3 (package libssl3)"
  exit 77
fi
rm -rf "${work}"
mkdir -p "${work}"
cd "${work}"
processes=()
trap 'kill "${processes[@]}" 2> /dev/null || true' EXIT

fail() {
  echo "FAILED: $*"
  tail -n 50 ./*.txt
  exit 1
}

# serve NAME DEVICES OPTION...: makes a fleet and a job, and serves it; sets server and port.
serve() {
  local name="$1" devices="$2"
  shift 2
  "${bin}/sotto" keys new "${name}.db" --count "${devices}" --prefix "${name}-" \
    --out "${name}" > /dev/null
  "${bin}/sotto" serve "${name}.db" --once --listen 127.0.0.1:0 --port-file "${name}.port" \
    --cohort "${devices}" --noise-multiplier 1 --colluders 0 --close-early "$@" > "${name}.txt" 2>&1 &
  server=$!
  processes+=("${server}")
  for ((i = 0; i < 300; i++)); do
    [[ ! -s "${name}.port" ]] || break
    sleep 0.1
  done
  port="$(cat "${name}.port")" || fail "no server ${name}"
}

# Sixty made-up images of 28 x 28, in the files of MNIST.
"${python[@]}" - << 'END'
import random
import struct

images = random.Random(1).randbytes(60 * 28 * 28)
with open("images", "wb") as file:
    file.write(struct.pack(">4B3I", 0, 0, 8, 3, 60, 28, 28) + images)
with open("labels", "wb") as file:
    file.write(struct.pack(">4BI", 0, 0, 8, 1, 60) + bytes(i % 10 for i in range(60)))
END

"${python[@]}" "${client}" --check

serve mixed 3 --rounds 3 --require-salt
options=(--server "127.0.0.1:${port}" --data images --labels labels --give-up 60)
"${bin}/sotto-client" "${options[@]}" --once --key mixed/mixed-000000.key --samples 0:20 > 0.txt 2>&1 &
first=$!
"${bin}/sotto-client" "${options[@]}" --once --key mixed/mixed-000001.key --samples 20:20 > 1.txt 2>&1 &
second=$!
processes+=("${first}" "${second}")
"${python[@]}" "${client}" "${options[@]}" --key mixed/mixed-000002.key --samples 40:20 \
  > 2.txt 2>&1 || fail "the independent client"
wait "${first}" || fail "the first client"
wait "${second}" || fail "the second client"
wait "${server}" || fail "the server"
cat mixed.txt 2.txt
[[ "$(grep -c 'released: 3 of 3 reported' mixed.txt)" == 3 ]] || fail "not all have reported"
grep -q 'all 3 rounds of the plan are released' mixed.txt || fail "the job is not done"
[[ "$(grep -c 'reported' 2.txt)" == 3 ]] || fail "the independent client missed a round"

# foretell NAME FEATURES OPTION...: the released model is the one foretold by its only device, which says
# that it has these features.
foretell() {
  local name="$1" features="$2"
  shift 2
  serve "${name}" 1 --rounds 2 --delta 0.1 --model-out "${name}.f32" "$@"
  "${python[@]}" "${client}" --server "127.0.0.1:${port}" --data images --labels labels \
    --give-up 60 --features "${features}" --key "${name}/${name}-000000.key" --samples 0:60 \
    --released "${name}.foretold" > "${name}-device.txt" 2>&1 || fail "the device of ${name}"
  wait "${server}" || fail "the server ${name}"
  # The server adds in another order and precision, so the last bits of a float32 may differ. The
  # noise of a parameter has a deviation of 0.8 a round. On a grid the released model is the nearest one.
  "${python[@]}" - "${name}" << 'END' || fail "the released model of ${name} is not the one foretold"
import struct
import sys

name = sys.argv[1]
fetched = open(name + ".foretold.fetched", "rb").read()
released, foretold = (open(name + end, "rb").read() for end in (".f32", ".foretold"))
assert len(released) == len(foretold) == 31400
errors = [abs(a[0] - b[0]) for a, b in zip(struct.iter_unpack("<f", released),
                                           struct.iter_unpack("<f", foretold))]
print(f"{name}: released and foretold parameters differ by at most {max(errors)}")
grid = 0
if name == "grid":
    grid = max(2.0**e for e in range(-20, 1)
               if all(x / 2.0**e == int(x / 2.0**e) for x, in struct.iter_unpack("<f", released)))
    assert grid > 0.01, grid
    assert fetched == released, "the device has fetched another model"
else:
    assert not fetched, "a device that takes no differences holds none"
assert max(errors) < grid / 2 + 2e-6
END
}

foretell range 128 --require-salt --one-length off --grid 0
foretell fixed 0 --coding fixed --padding 0 --grid 0
foretell grid 4736
# The update has one coordinate more, and the second round another bound and noise than the first.
foretell adaptive 640 --adaptive-clip --clip 0.1 --grid 0
next="$(sed -n 's|.*round 1/2 released.*clip 0.1, next \([0-9.]*\):.*|\1|p' adaptive.txt)"
[[ -n "${next}" && "${next}" != 0.1 ]] || fail "the bound has not moved"
grep -q "round 2/2 released.*clip ${next}, next" adaptive.txt || fail "round 2 had another bound"
# Over a link of small frames, in Python too, of which each side loses some. sotto-gateway is its other end.
serve frames 1 --rounds 1 --delta 0.1
"${bin}/sotto-gateway" --server "127.0.0.1:${port}" --listen 127.0.0.1:0 --port-file gateway.port --verbose \
  --test-loss 0.02 > gateway.txt 2>&1 &
processes+=($!)
for ((i = 0; i < 300 && $(cat gateway.port 2> /dev/null || echo 0) == 0; i++)); do sleep 0.1; done
"${python[@]}" "${source_dir}/tests/e2e/independent/frame_link.py" "$(cat gateway.port)" link.port 0.02 \
  > link.txt 2>&1 &
processes+=($!)
for ((i = 0; i < 300 && $(cat link.port 2> /dev/null || echo 0) == 0; i++)); do sleep 0.1; done
"${python[@]}" "${client}" --server "127.0.0.1:$(cat link.port)" --data images --labels labels --give-up 60 \
  --key frames/frames-000000.key --samples 0:60 > frames-device.txt 2>&1 || fail "the device behind frames"
wait "${server}" || fail "the server behind the gateway"
grep -q 'round 1/1 released: 1 of 1 reported' frames.txt || fail "the update did not pass the gateway"
trap - EXIT
cd /
rm -rf "${work}"
