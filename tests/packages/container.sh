#!/usr/bin/env bash
# container.sh SOURCE_DIR WORK_DIR DEBIAN_DIR BIN_DIR
# The image of toolchains/package/container, made by buildah from the packages and the clean Debian that packages.debian
# has left in DEBIAN_DIR: as its own user, with its own command, it serves a job to clients of BIN_DIR, its health check
# says so, and a new container goes on with the same store. compose.yaml agrees with the image. Processes run in the
# image's files by chroot: this needs no engine, and shows none. The Dockerfile that builds the packages itself takes
# too long here. Skipped, 77, without buildah, or without what packages.debian leaves, or where no image can be made.
set -euo pipefail
source_dir="$1" work="$2" debian="$3" bin="$4"
command -v buildah > /dev/null || {
  echo 'skipped: no buildah'
  exit 77
}
if [[ ! -s "${debian}/base.tar" ]] || ((EUID != 0)); then
  echo "skipped: no ${debian}/base.tar (packages.debian), or not root"
  exit 77
fi
place="${source_dir}/toolchains/package/container"
fail() {
  echo "FAILED: $1"
  tail -n 20 "${work}"/*.log 2> /dev/null || true
  exit 1
}
buildah_here() { buildah --storage-driver vfs --root "${work}/storage" --runroot "${work}/run" "$@"; }
clean() {
  [[ -z "${server-}" ]] || kill "${server}" 2> /dev/null || true
  buildah_here umount --all > /dev/null 2>&1 || true
  rm -rf --one-file-system "${work}/storage" "${work}/run"
}
rm -rf --one-file-system "${work}"
mkdir -p "${work}"/context/packages
cd "${work}"
trap clean EXIT

# Debian's image comes from a registry elsewhere.
make_base() {
  local container
  container="$(buildah_here from scratch)" && buildah_here add --quiet "${container}" "${debian}/base.tar" / &&
    buildah_here commit --quiet --rm "${container}" base
}
make_base > base.log 2>&1 || {
  echo "skipped: buildah makes no image here: $(tail -n 1 base.log)"
  exit 77
}
cp -r "${source_dir}/debian" context
cp "${debian}"/sotto_[0-9]*.deb context/packages
buildah_here bud --isolation chroot --format docker --build-arg BASE=localhost/base --build-arg PACKAGES=packages \
  --file "${place}/Dockerfile" --tag sotto context > bud.log 2>&1 || fail 'the image'
buildah_here inspect --type image sotto > image.json
# field EXPRESSION: a text, or the lines of a list, of the image's configuration `c`.
field() {
  python3 -c "import json; c = json.load(open('image.json'))['Docker']['config']; x = $1
print(x if isinstance(x, str) else '\n'.join(x))"
}
user="$(field 'c["User"]')" folder="$(field 'c["WorkingDir"]')" store="$(field 'c["Volumes"]')"
mapfile -t command < <(field 'c["Entrypoint"] + c["Cmd"]')
mapfile -t check < <(field 'c["Healthcheck"]["Test"][1:]')

# new_container: sets `root` to the files of a new container.
new_container() { root="$(buildah_here mount "$(buildah_here from --pull-never sotto)")"; }
# in_image COMMAND...: as the image's user, in its folder.
in_image() { (exec chroot --userspec="${user}:${user}" "${root}" /usr/bin/env -i -C "${folder}" PATH=/usr/bin:/bin "$@"); }
new_container
[[ "$(in_image id -un)" == sotto && "$(in_image id -u)" == 7177 && "${store}" == "${folder}" ]] || fail 'the user'
! in_image sh -c 'echo x > /etc/sotto/server.toml' 2> /dev/null || fail 'the user writes the configuration'

# Ports that nothing listens on; the network is this machine's.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (: < "/dev/tcp/127.0.0.1/${port}") 2> /dev/null || break
  done
  echo "${port}"
}
devices_port="$(free_port)" page_port="$(free_port)"
relocate() { sed -i "s/0\.0\.0\.0:7177/127.0.0.1:${devices_port}/; s/:8080/:${page_port}/" "$1"; }
relocate "${root}/etc/sotto/server.toml"
check=("${check[@]//8080/${page_port}}")
is_healthy() { in_image "${check[@]}" > /dev/null 2>&1; }
serve() {
  # The pid of the program, not of a shell around it.
  in_image sh -c 'echo $$; exec "$@"' sh "${command[@]}" > "$1" 2>&1 &
  shell=$!
  for ((i = 0; i < 100; i++)); do
    server="$(head -n 1 "$1")"
    [[ -z "${server}" ]] || break
    sleep 0.1
  done
  for ((i = 0; i < 300; i++)); do
    ! is_healthy || return 0
    kill -0 "${server}" 2> /dev/null || break
    sleep 0.1
  done
  fail 'the server does not become healthy'
}
stop() {
  local status=0
  kill "${server}"
  wait "${shell}" || status=$?
  server=''
  ((status == 143)) || fail "the server ended with ${status}"
}

# Three devices with 20 samples each.
awk 'BEGIN {
  for (i = 0; i < 60; i++) {
    for (j = 0; j < 4; j++) printf "%.3f,", sin(i * (j + 1)) + (j == i % 3 ? 2 : 0)
    print i % 3
  }
}' > data.csv
printf 'name = "tiny"\ninput = [4]\nloss = "softmax"\n\n[[layer]]\nkind = "dense"\noutputs = 3\n' |
  in_image tee "${store}/tiny.toml" > /dev/null
! is_healthy || fail 'healthy before it runs'
in_image sotto keys new "${store}/fleet.db" --count 3 --kits "${store}/kits" --server "127.0.0.1:${devices_port}" \
  --model "${store}/tiny.toml" --data data.csv > keys.log
serve served.log
in_image sotto job start "${store}/fleet.db" --model "${store}/tiny.toml" --cohort 2 --rounds 3 --noise-multiplier 1 \
  --delta 0.1 --accept-delta --close-early --yes > job.log 2>&1 || fail 'job start'
clients=()
for i in 0 1 2; do
  cp "${root}${store}/kits/device-00000${i}.sotto" .
  chmod 600 "device-00000${i}.sotto"
  "${bin}/sotto-client" --kit "device-00000${i}.sotto" --data "${work}/data.csv" --samples "$((20 * i)):20" --once \
    --model "${root}${store}/tiny.toml" > "device-${i}.log" 2>&1 &
  clients+=($!)
done
for client in "${clients[@]}"; do wait "${client}" || fail 'a client'; done
(("$(grep -c ' released: ' served.log)" == 3)) || fail 'three rounds'
is_healthy || fail 'not healthy after the job'
stop
! is_healthy || fail 'healthy after its end'

# A new container, with the volume of the old one.
old="${root}"
new_container
relocate "${root}/etc/sotto/server.toml"
cp -a "${old}${store}/." "${root}${store}/"
serve again.log
in_image sotto status "${store}/fleet.db" > status.log
grep -q '3 of 3\|3/3' status.log || fail "the status: $(cat status.log)"
stop

python3 - "${place}/compose.yaml" "${store}" << 'END' || fail 'compose.yaml'
import pathlib, sys
try:
    import yaml
except ImportError:
    print("NOT TESTED: compose.yaml (package python3-yaml)")
    sys.exit()
path = pathlib.Path(sys.argv[1])
compose = yaml.safe_load(path.read_text())
server = compose["services"]["server"]
context = (path.parent / server["build"]["context"]).resolve()
assert (context / server["build"]["dockerfile"]).is_file()
assert (context / "debian/control").is_file()
assert server["volumes"] == [f"store:{sys.argv[2]}"] and "store" in compose["volumes"]
assert server["network_mode"] == "host" and server["read_only"] is True and server["cap_drop"] == ["ALL"]
END
echo 'ok'
