// Features of a signal (sotto/signal_features.h) as nodes of an ONNX graph. Part of
// sotto::server/export; for onnx.cc.
#pragma once

#include <string>

#include "export/onnx_graph.h"
#include "sotto/preparation.h"

namespace sotto::server {

// Adds the nodes of a step that changes the sample's shape, in standard operators: frames and their
// transform are one convolution.
//   value  [samples][axes][height][width] of step.input as a signal: height 1, or behind frames
// Returns the name of [samples][channels][height][width] of step.output.
std::string AddFeatures(const nn::PreparationStep& step, const std::string& value,
                        OnnxGraph* graph);

}  // namespace sotto::server
