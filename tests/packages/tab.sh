#!/usr/bin/env bash
# tab.sh SOURCE_DIR WORK_DIR SOTTO
# Builds the preset tab in WORK_DIR/build. The program in Node trains what the program SOTTO trains, digest for digest:
# the rows of examples/tab/native.json, other settings, and a CSV file; a wrong file gives the same message. Then the
# page in Chromium, if it is there (tab_checks.py). Skipped, 77, where a compiler or a source is missing.
set -euo pipefail
source_dir="$1" work="$2" sotto="$3"
cd "${source_dir}"
missing="$(
  for program in emcc node python3; do
    command -v "${program}" > /dev/null || echo "${program} (packages emscripten, nodejs)"
  done
  [[ -d /usr/share/nodejs/acorn ]] || echo 'acorn (package node-acorn)'
  for source in mbedtls-2.28 nanopb-0.4.7 zlib-1.2.13 libcsv-3.0.3 kissfft-131.1.0; do
    [[ -d "build/cache/${source}" ]] || echo "build/cache/${source} (toolchains/fetch-source.sh)"
  done
)"
if [[ -n "${missing}" ]]; then
  echo "skipped: no ${missing//$'\n'/, no }"
  exit 77
fi

build="${work}/build"
mkdir -p "${work}"
cmake --preset tab -B "${build}" -DSOTTO_TEXTS_FLAG=-O0 > "${work}/configure.log" || {
  cat "${work}/configure.log"
  exit 1
}
cmake --build "${build}" --target sotto_tab --parallel 2 > "${work}/build.log" || {
  tail -n 40 "${work}/build.log"
  exit 1
}
cd "${work}"
status=0

# A file of three classes in eight columns, and a net for it.
awk 'BEGIN {
  srand(3)
  for (i = 1; i <= 8; ++i) printf "x%d,", i
  print "activity"
  split("rest walk run", names, " ")
  for (row = 0; row < 2000; ++row) {
    class = 1 + int(3 * rand())
    for (i = 1; i <= 8; ++i) printf "%.3f,", (i % 3 == class - 1) + 1.4 * (rand() + rand() + rand() - 1.5)
    print names[class]
  }
}' > readings.csv
printf 'name = "softmax"\ninput = [8]\n\n[[layer]]\nkind = "dense"\noutputs = 3\n' > net.toml

natively() { "${sotto}" simulate "$@" --json - 2> /dev/null | sed -nE 's/^ *"parameters_sha256": "([0-9a-f]+)".*/\1/p'; }
images=/usr/share/datasets/fashion-mnist
folder=()
[[ ! -d "${images}" ]] || folder=(--folder "${images}")
in_node() {
  node "${source_dir}/tests/packages/tab_node.js" "${build}" --file readings.csv --file net.toml "${folder[@]}" "$@" |
    cut -d ' ' -f 1
}

# same OPTION...: sets `digest`.
same() {
  local other
  digest="$(natively "$@")"
  other="$(in_node "$@")"
  echo "${digest} $*"
  [[ -n "${digest}" && "${digest}" == "${other}" ]] || {
    echo "FAILED: in Node it is ${other}"
    status=1
  }
}

rows=0
while IFS='|' read -r options sha256; do
  read -ra words <<< "${options}"
  if [[ "${options}" != *'--data '* && ! -d "${images}" ]]; then
    echo "NOT TESTED: ${options}: no Fashion-MNIST (package dataset-fashion-mnist)"
    continue
  fi
  same "${words[@]}"
  [[ "${digest}" == "${sha256}" ]] || {
    echo "FAILED: examples/tab/native.json has ${sha256}"
    status=1
  }
  rows=$((rows + 1))
  : "${first:=${digest}}"  # the page begins with it
done < <(sed -nE 's/^ *\{"options": "(.*)", "sha256": "([0-9a-f]+)"\},?$/\1|\2/p' "${source_dir}/examples/tab/native.json")
((rows > 0)) || status=1
same --data synthetic --devices 200 --epsilon 2 --participations 2 --seed 2
# Smoothing trains, too, to other last bits: another compiler has made its Fourier transform.
[[ -n "$(in_node --data synthetic --devices 60 --smoothing 1 --seed 2)" ]] || status=1
same --data synthetic --devices 60 --model small-cnn --seed 3
csv=(--data readings.csv --model net.toml --devices 100 --samples-per-device 10 --seed 1)
same "${csv[@]}"
of_csv="${digest}"

# The same words about what is wrong.
for wrong in '--data missing.csv' '--data readings.csv --model softmax-64-10' '--data synthetic --epsilon -1'; do
  read -ra words <<< "${wrong}"
  ! "${sotto}" simulate "${words[@]}" 2> native.txt || status=1
  ! in_node "${words[@]}" 2> node.txt || status=1
  diff <(grep -v '^note: ' native.txt) <(grep -v '^note: ' node.txt) || {
    echo "FAILED: other words for ${wrong}"
    status=1
  }
done

/usr/bin/python3 -B "${source_dir}/tests/packages/tab_checks.py" "${build}/sotto-tab.html" "${first}" readings.csv \
  "${of_csv}" || {
  code=$?
  ((code == 77)) && echo 'NOT TESTED: the page in Chromium' || status=1
}
exit "${status}"
