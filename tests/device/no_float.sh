#!/usr/bin/env bash
# no_float.sh SOURCE_DIR IMAGES
# Shows that the encoder computes in integers from the conversion to Q20 on, conversion included, and
# that the decoder and the layers of a net in fixed point compute in integers. It reads an image for a Cortex-M3, where every floating-point
# operation is a call. IMAGES is the folder in which board.sh has built its firmware. Skipped, 77, where a
# tool or the image is missing.
set -euo pipefail
source_dir="$1" images="$2"
for needed in arm-none-eabi-objdump /usr/bin/python3 "${images}/cortex-m3/firmware"; do
  command -v "${needed}" > /dev/null || {
    echo "skipped: no ${needed}"
    exit 77
  }
done

no_float() { /usr/bin/python3 -B "${source_dir}/tests/device/no_float.py" "$@"; }

# `golden` has the decoder and both codes, the firmware what a resumed upload needs.
cmake --build "${images}/cortex-m3" --target golden --parallel 2
no_float "${images}/cortex-m3/bin/golden" sotto::UpdateEncoder::Begin sotto::UpdateEncoder::Read \
  sotto::UpdateEncoder::Values sotto::UpdateEncoder::MeasureNoisyValues sotto::DecodeUpdate
no_float "${images}/cortex-m3/firmware" sotto::UpdateEncoder::Begin sotto::UpdateEncoder::Seek

# The layers of a net in fixed point compute in integers.
no_float "${images}/cortex-m3/bin/golden" sotto::nn::internal::Fixed{Dense,Conv2d}{Forward,AddGradient,InputDelta} \
  sotto::nn::internal::Fixed{Relu,MaxPool2d,AveragePool2d}{Forward,InputDelta}

# Training has floats, and they are seen.
status=0
no_float "${images}/cortex-m3/bin/golden" sotto::nn::internal::FloatTrainBatch || status=$?
((status == 1))
