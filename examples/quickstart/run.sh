#!/usr/bin/env bash
# From a fresh checkout to a trained model: installs, builds, trains a simulated fleet.
set -euo pipefail

usage() {
  cat << 'END'
Usage: examples/quickstart/run.sh

Installs the packages that are missing (Debian, Ubuntu), builds `sotto`, and trains
softmax regression on Fashion-MNIST across 1,000 simulated devices under a privacy
budget. Without the data package a made-up data set stands in. Takes no arguments and
works from any directory; a second run only trains.

Writes build/quickstart/results.json and build/quickstart/model.f32.
Environment: SOTTO_BUILD_ROOT  folder for everything it writes (default: build, in the checkout)
END
}

case "${1-}" in
  '') ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build_root="${SOTTO_BUILD_ROOT:-${root}/build}"
mkdir -p "${build_root}"
build_root="$(cd "${build_root}" && pwd)"
out="${build_root}/quickstart"
sotto="${build_root}/host/bin/sotto"
# shellcheck source-path=SCRIPTDIR source=packages.sh
source "${root}/examples/quickstart/packages.sh"

# The value of a field of the results that is not inside a round.
result() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "${out}/results.json"; }

# A number among them, with so many decimals.
number() { LC_ALL=C printf "%.$2f" "$(result "$1")"; }

# The same, rounded up: an epsilon and its delta hold as they are printed.
number_up() {
  LC_ALL=C awk -v x="$(result "$1")" -v digits="$2" \
    'BEGIN { s = 10 ^ digits; n = int(x * s); if (n / s < x) ++n; printf "%.*f", digits, n / s }'
}

started=${SECONDS}
install_packages "${BUILD_PACKAGES[@]}"
install_packages ca-certificates || true
"${root}/toolchains/fetch-source.sh" "${root}/build/cache" npm uplot=1.6.32 ||
  echo "NOTICE: no uPlot; pages of sotto will have tables and no charts." >&2
install_packages "${DATA_PACKAGE}" || true

(cd "${root}" && cmake --preset host -B "${build_root}/host")
cmake --build "${build_root}/host" --target sotto_cli sotto_client
ready=${SECONDS}

mkdir -p "${out}"
"${sotto}" simulate --json "${out}/results.json" --model-out "${out}/model.f32"

turns="$(sed -n 's/^    "participations": \([0-9]*\),$/\1/p' "${out}/results.json" | head -n 1)"
data="$(result data)"
command="$(printf '%q' "${sotto}") simulate --data ${data}"
live=skipped
if [[ "${data}" == fashion-mnist ]]; then
  "${root}/examples/quickstart/live_fleet.sh" "${build_root}/host/bin" "${out}/live"
  live="4 devices over TLS, 2 rounds: ${out}/live"
fi

cat << END

Done. $(result devices) simulated devices trained $(result model) on $(result data), $(result cohort) of them a round.
  accuracy  $(number initial_accuracy 4) -> $(number accuracy 4) on the test set
  epsilon   $(number_up epsilon 3) at delta $(result delta), $(result adjacency) adjacency: what the released models and
            the network tell about one device, which takes part in at most ${turns} rounds; the server is trusted
  upload    $(number bytes_up_per_device_round 0) bytes a device and round
  both ways $(number participation_bytes_up 0) bytes up and $(number participation_bytes_down 0) down a participation (float32 both ways: $(number participation_bytes_float32 0))
  time      $((ready - started)) s to install and build, $((SECONDS - ready)) s to train
  live      ${live}
  files     ${out}/results.json
            ${out}/model.f32

Next:
  ${command} --epsilon 1
  ${command} --sampling poisson --dropout 0.1
  ${command} --mechanism none
END
