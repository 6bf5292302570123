#!/usr/bin/env bash
# client_readme.sh SOURCE_DIR BUILD_DIR WORK_DIR CMAKE_OPTION...
# Follows ports/posix/client/README.md in a copy of the sources: its commands configure the client,
# install it below WORK_DIR instead of /, bring its kit there, and what the unit sotto-client@kitchen then starts takes
# part in a job of the real server. What the unit sotto-client starts, after the way without a kit, finds all its files.
# Commands that change the machine are played; arm_linux.aarch64 and
# tests/run.sh run the commands of the cross build. The client is not built again: each of its sources would be
# compiled as in BUILD_DIR, so the client of BUILD_DIR is the one that its preset builds.
set -euo pipefail
source_dir="$1" build_dir="$2" work="$3" bin="$2/bin"
options=("${@:4}")
readme="${source_dir}/ports/posix/client/README.md"
rm -rf "${work}"
mkdir -p "${work}"/{checkout,played,root}
cd "${work}/checkout"

cp -r "${source_dir}"/{CMakeLists.txt,CMakePresets.json,sdk,server,ports,examples,toolchains} .

# play COMMAND SCRIPT: a command of that name, first in PATH.
play() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" > "${work}/played/$1"
  chmod +x "${work}/played/$1"
}
# shellcheck disable=SC2016  # for the played commands
{
  play sudo 'exec "$@"'
  play useradd 'true'
  play systemctl 'true'
  play journalctl 'true'
  play scp '[[ "$1" != kits/* ]] || cp "$1" .'
  play sudoedit 'sed -i "s/sotto.example:7177/${SERVER}/" "$1"'
  play install '
    arguments=()
    while (($# > 0)); do
      case "$1" in
        -o | -g) [[ "$2" == sotto ]] || exit 1; shift 2 ;;
        *) arguments+=("$1"); shift ;;
      esac
    done
    exec /usr/bin/install "${arguments[@]}"'
}
export PATH="${work}/played:${PATH}"

# A port that nothing listens on.
while :; do
  port=$((20000 + RANDOM % 12000))
  (: < "/dev/tcp/127.0.0.1/${port}") 2> /dev/null || break
done
export SERVER="127.0.0.1:${port}"

# Paths of the device, in text, below the work folder.
relocate() { sed -E "s#/(etc|var/lib)/sotto#${work}/root/\1/sotto#g; s#/usr/local/#${work}/root/usr/local/#g"; }

check_packages() {
  local name
  for name in "$@"; do
    [[ "${name}" != -* ]] || continue
    grep -qwF -e "${name}" "${source_dir}/examples/quickstart/packages.sh" "${source_dir}/tests/run.sh" || {
      echo "README.md installs ${name}, which neither packages.sh nor tests/run.sh knows"
      return 1
    }
  done
}

# start_server OPTION...: the README's server.
start_server() {
  local options=("${@/#0.0.0.0:7177/${SERVER}}")
  "${bin}/sotto" serve "${options[@]}" --port-file port > "${work}/server.txt" 2>&1 &
  server=$!
  trap 'kill ${server} 2> /dev/null || true' EXIT
  for ((i = 0; i < 300; i++)); do
    [[ ! -s port ]] || break
    sleep 0.1
  done
}

# compile_commands SOURCE_DIR BUILD_DIR: how each object is compiled, without these folders.
compile_commands() {
  sed -n 's/^  "command": //p' "$2/compile_commands.json" | sed "s#$2/##g; s#$1/##g" | sort
}

# The preset client is configured as on a device; then it takes the program that is there, and no other: what is
# installed needs no other target.
build_client() {
  compile_commands "${PWD}" "${PWD}/build/client" > wanted.txt
  compile_commands "${source_dir}" "${build_dir}" > built.txt
  grep -q sotto_client wanted.txt
  if comm -23 wanted.txt built.txt | grep .; then
    echo "^ the preset client compiles these; ${build_dir} does not, or in another way"
    return 1
  fi
  mkdir -p build/client/bin
  cp "${build_dir}/bin/sotto-client" build/client/bin
}

# 8 images of 28 x 28 and their labels.
{
  printf '\0\0\10\3\0\0\0\10\0\0\0\34\0\0\0\34'
  head -c 6272 /dev/urandom
} > images
printf '\0\0\10\1\0\0\0\10\0\1\2\3\4\5\6\7' > labels

awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "${readme}" > commands.txt
while IFS= read -r line; do
  echo "+ ${line}"
  read -ra words <<< "${line/192.168.1.20:7177/${SERVER}}"
  case "${line}" in
    'sudo apt-get update') ;;
    'sudo apt-get install '*) check_packages "${words[@]:3}" ;;
    'toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7 zlib=1.2.13 libcsv=3.0.3') ;;
    'cmake --preset aarch64' | 'cmake --build --preset aarch64 --target sotto_client') ;;
    'cmake --preset client') ${line} "${options[@]}" ;;
    'cmake --build --preset client '*) build_client ;;
    'sudo cmake --install '*) cmake --install build/client --component client --prefix "${work}/root/usr/local" ;;
    'build/host/bin/sotto keys '*)
      "${bin}/${words[0]##*/}" "${words[@]:1}" > keys.txt
      ;;
    'build/host/bin/sotto serve '*) start_server "${words[@]:2}" ;;
    *)
      relocate <<< "${line}" > step.sh
      bash -e step.sh
      ;;
  esac
  [[ "${line}" != *client.toml\ /etc* ]] || relocate < ports/posix/client/client.toml > "${work}/root/etc/sotto/client.toml"
done < commands.txt

state="${work}/root/var/lib/sotto"
[[ "$(stat -c %a "${state}" "${state}/kitchen.sotto" "${state}/device.key")" == $'700\n600\n600' ]]
for file in kitchen.sotto kits/kitchen.sotto kitchen.key; do [[ ! -e "${file}" ]]; done
units="${work}/root/usr/local/lib/systemd/system"
start="$(sed -n 's/^ExecStart=//p' "${units}/sotto-client@.service" | sed 's/%i/kitchen/' | relocate)"
read -ra words <<< "${start}"
echo "+ ${start}"
# What a check prints, line by line.
"${words[@]}" --check > "${work}/check.txt"
awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^(device|server|model|data|labels|result): /' \
  "${readme}" | sed 's/:.*//' | diff - <(sed 's/:.*//' "${work}/check.txt")
grep -q '^result: a run would take part$' "${work}/check.txt"
"${words[@]}" --once --give-up 60 2> "${work}/client.txt"
[[ -s "${state}/kitchen.mark" ]]
# The events, in the order and the words of the README's session.
without_numbers() { sed -E 's/^[0-9-]+ [0-9:]+Z //; s/[0-9]+\.[0-9.]+(:[0-9]+)?/N/g; s/[0-9]+ bytes/N bytes/; s/bytes: [0-9]+/bytes: N/; s/[0-9]+ (samples|steps)/N \1/g'; }
awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^[0-9 :Z-]*kitchen: /' "${readme}" | without_numbers > session.txt
# A slow machine may wait for a round.
sed -i '/: labels: /d' session.txt  # of other images
grep -v -e ': waiting to be drawn$' -e ': labels: ' "${work}/client.txt" | without_numbers | diff session.txt -
trap - EXIT
wait "${server}" || {
  cat "${work}/server.txt"
  echo "FAILED: the server"
  exit 1
}
grep -q 'all 2 rounds of the plan are released' "${work}/server.txt"

# Without a kit, and now without a server: every file is read before the client connects.
start="$(sed -n 's/^ExecStart=//p' "${units}/sotto-client.service" | relocate)"
echo "+ ${start}"
status=0
${start} --give-up 0.1 2> "${work}/by-hand.txt" || status=$?
((status == 4)) || {
  cat "${work}/by-hand.txt"
  echo "FAILED: exit status ${status}, not 4: no server"
  exit 1
}

# The lines for client.toml are options of the program.
"${words[0]}" --help > help.txt
awk '/^```toml$/ { inside = 1; next } /^```/ { inside = 0 } inside { print $1 }' "${readme}" > names.txt
[[ -s names.txt ]]
while IFS= read -r name; do
  grep -q -e "^  --${name} " help.txt || {
    echo "README.md: sotto-client has no option ${name}"
    exit 1
  }
done < names.txt
