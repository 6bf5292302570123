// The functions of the formats, for formats.cc only. Part of sotto::server/export.
#pragma once

#include <string>

#include "export/format.h"

namespace sotto::server {

// safetensors: u64 length of a JSON text, the text, the tensors. Metadata are strings.
// Source: https://github.com/huggingface/safetensors#format
std::string WriteSafetensors(const TrainedModel& model);
ModelContent ReadSafetensors(const std::string& bytes);

// One array, and a zip archive of arrays, as numpy.save and numpy.savez write them. The archive's
// comment is the metadata as JSON.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string WriteNpy(const TrainedModel& model);
ModelContent ReadNpy(const std::string& bytes);
std::string WriteNpz(const TrainedModel& model);
ModelContent ReadNpz(const std::string& bytes);

// A header for C++ with the net's type and for C with the numbers alone: see sotto/predict.h.
std::string WriteHeader(const TrainedModel& model);

// ONNX with opset 13. Image samples are NCHW.
// Source: https://github.com/onnx/onnx/blob/v1.12.0/docs/Operators.md
std::string WriteOnnx(const TrainedModel& model);

}  // namespace sotto::server
