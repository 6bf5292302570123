#!/usr/bin/env bash
# net_messages.sh SOURCE_DIR CXX
# A net whose layers do not fit does not compile, and the compiler's message says what is wrong.
set -euo pipefail
cd "$1"
cxx="$2"

failures=0

# refused MESSAGE ENTRIES...: Sequential<ENTRIES> does not compile and the compiler says MESSAGE.
# in_fixed_point=1: FixedPoint<Sequential<ENTRIES>>.
refused() {
  local message="$1"
  shift
  local net="Sequential<$*>"
  [[ -z "${in_fixed_point-}" ]] || net="FixedPoint<${net}>"
  local program="#include \"sotto/nn.h\"
    using namespace sotto::nn;
    extern const float kThree[3];
    constexpr auto kModel = sotto::MakeModelInfo<${net}>(\"net\");"
  local output
  if output="$("${cxx}" -std=c++17 -fsyntax-only -I sdk/include -x c++ - 2>&1 <<< "${program}")"; then
    echo "compiles: ${net}"
  elif ! grep -qF "${message}" <<< "${output}"; then
    echo "${net}: the compiler does not say '${message}' but"
    grep -F 'error' <<< "${output}" | head -n 3
  else
    return 0
  fi
  failures=$((failures + 1))
}

refused 'Connection<sotto::nn::Flatten, sotto::nn::Dense<300, 10>, 1, 1, 864' \
  'Input<28, 28, 1>, Conv2d<6, 5>, Relu, MaxPool2d<2>, Flatten, Dense<300, 10>'
refused 'Layer does not take the output of the layer Before it' 'Input<8, 3>, Conv1d<4, 9>'
refused 'a net begins with Input<...> or with Dense<inputs, outputs>' 'Relu, Dense<4, 2>'
refused 'a net has at least one layer' 'Input<4>'
refused 'a net has at least one layer' 'Input<4>, UnitNorm'
refused 'a step that prepares samples stands before all layers' 'Input<4>, Dense<4, 2>, UnitNorm'
refused 'PreparationOf<sotto::nn::FillMissing<kThree>, 1, 1, 4>' 'Input<4>, FillMissing<kThree>, Dense<4, 2>'
refused 'a step has one number, one a channel or one a feature' 'Input<8, 3>, RandomFlip, Dense<24, 2>'
refused 'a step has one number' 'Input<8, 8, 1>, RandomCrop<8>, Dense<64, 2>'
refused 'features of a signal take one row, frames that fit' 'Input<100>, Spectrum<128, 64, 8>, Dense<8, 2>'
refused 'tokens are not prepared' 'Tokens<4>, UnitNorm, Embedding<9, 2>'
refused 'a net has at most 8 random steps' "Input<8, 8, 1>, $(printf 'RandomFlip, %.0s' {1..9})Dense<64, 2>"
refused 'a loss is the last entry of its net' 'Dense<4, 2>, OneVsAll, Relu'
refused 'Embedding is the first layer of its net' 'Tokens<4>, Relu, Embedding<9, 2>'
refused 'as many numbers as its layers have parameters' \
  'Input<4>, Frozen<kThree, Dense<4, 2>>, Dense<2, 2>'
refused 'Personal is the last entry of its net, or stands before the loss' \
  'Input<4>, Personal<Dense<4, 4>>, Dense<4, 2>'
refused 'the layers of Personal have parameters' 'Input<4>, Dense<4, 2>, Personal<Relu>'
refused 'a net has something to train that is sent' 'Input<4>, Personal<Dense<4, 2>>'
refused 'an autoencoder has as many outputs as inputs' \
  'Dense<4, 3>, MeanSquaredError<TargetKind::kInput>'
refused 'the target of a regression is a vector' \
  'Dense<4, 3>, MeanSquaredError<TargetKind::kClass>'
refused 'Add takes a branch that no Fork before it has begun' 'Input<4>, Dense<4, 4>, Add<1>'
refused 'Add takes a branch that no Fork before it has begun, or that has ended' \
  'Input<4>, Fork<1>, Dense<4, 4>, Add<1>, Add<1>'
refused 'Swap takes a branch that no Fork before it has begun' 'Input<4>, Fork<1>, Swap<2>, Add<1>'
refused 'Fork begins a branch whose number waits already' \
  'Input<4>, Fork<1>, Dense<4, 4>, Fork<1>, Add<1>'
refused 'a branch that begins at a Fork ends at an Add' 'Input<4>, Fork<1>, Dense<4, 4>'
refused 'a branch that begins at a Fork ends at an Add' 'Input<4>, Fork<1>, Dense<4, 4>, OneVsAll'
refused 'Add takes two tensors of one shape' 'Input<4>, Fork<1>, Dense<4, 3>, Add<1>'
refused 'Branches<sotto::nn::internal::Branch<1, 1, 1, 4>' 'Input<4>, Fork<1>, Dense<4, 3>, Add<1>'
refused 'branches are numbered from 1' 'Input<4>, Fork<0>, Dense<4, 4>, Add<0>'
refused 'none of its layers works in place on the sample' \
  'Input<4>, Fork<1>, Dense<4, 4>, Swap<1>, Add<1>, MeanSquaredError<TargetKind::kInput>'
in_fixed_point=1 refused 'InFixedPoint<sotto::nn::Tanh' 'Dense<4, 3>, Tanh, Dense<3, 2>'
in_fixed_point=1 refused 'fixed point has no personal layers so far' \
  'Input<4>, Dense<4, 3>, Personal<Dense<3, 2>>'
in_fixed_point=1 refused 'fixed point has no frozen layers so far' \
  'Input<4, 1>, Frozen<kThree, Conv1d<1, 2>>, Dense<3, 2>'

exit $((failures > 0))
