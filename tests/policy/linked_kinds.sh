#!/usr/bin/env bash
# linked_kinds.sh SOURCE_DIR WORK_DIR CXX NM ARCHIVE
# A program links the functions of the kinds of layers and of the steps that its nets use, and no others:
# softmax regression none at all, small-cnn and resnet8 their layers' functions, a net that normalises that step.
set -euo pipefail
source_dir="$1" work_dir="$2" cxx="$3" nm="$4" archive="$5"
mkdir -p "${work_dir}"
status=0

# functions NAME NET: links a program with the net; prints the functions of layers, of the walker and of steps
# in it.
functions() {
  cat > "${work_dir}/$1.cc" << END
#include "sotto/models.h"
constexpr float kNumber = 0.5f;
namespace sotto {
using Normalised = nn::Sequential<nn::Input<4>, nn::Normalise<kNumber, kNumber>, nn::Dense<4, 2>>;
using Flipped = nn::Sequential<nn::Input<4, 4, 1>, nn::RandomFlip, nn::Dense<16, 2>>;
}
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<sotto::$2>("$1");
const sotto::ModelInfo* volatile g_model = &kModel;
int main() { return g_model->inputs == 0 ? 1 : 0; }
END
  # Mbed TLS is not needed to see what is linked.
  "${cxx}" -std=c++17 -I "${source_dir}/sdk/include" "${work_dir}/$1.cc" "${archive}" \
    -Wl,--unresolved-symbols=ignore-all -o "${work_dir}/$1"
  "${nm}" -C --defined-only "${work_dir}/$1" |
    sed -nE 's/.* sotto::nn::(internal::)?((Walker::)?[A-Za-z0-9]+(Forward|AddGradient|InputDelta))\(.*(LayerCall|Walker).*/\2/p;
             s/.* sotto::nn::(Walker)::.*/\1/p
             s/.* sotto::nn::(internal::)?([A-Za-z]+)\(.*Preparation(Call|Step).*/\2/p' | sort -u
}

# expect NAME NET FUNCTION...: these and no others.
expect() {
  local found wanted
  found="$(functions "$1" "$2")"
  wanted="$(printf '%s\n' "${@:3}" | sed '/^$/d' | sort -u)"
  if [[ "${found}" != "${wanted}" ]]; then
    echo "$1 links other functions than its layers'; < wanted, > found"
    diff <(echo "${wanted}") <(echo "${found}") || true
    status=1
  fi
}

expect softmax-784-10 Softmax784x10
expect normalised Normalised NormaliseFeatures Prepare PrepareForTraining
expect flipped Flipped FlipAtRandom Prepare PrepareForTraining
expect small-cnn SmallCnn Prepare Walker Conv2d{Forward,AddGradient,InputDelta} Relu{Forward,InputDelta} \
  Dense{Forward,AddGradient,InputDelta}
expect resnet8 ResNet8 Prepare Walker Conv2d{Forward,AddGradient,InputDelta} Relu{Forward,InputDelta} \
  GroupNorm{Forward,AddGradient,InputDelta} Fork{Forward,InputDelta} Add{Forward,InputDelta} \
  AveragePool2d{Forward,InputDelta} Dense{Forward,AddGradient,InputDelta}
exit "${status}"
