// Nets for tests of exported models: every kind of layer, order and loss. Their parameters and
// samples are random.
#pragma once

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto {

struct ExportedNet {
  std::string name;
  std::string text;  // of a model file
};

inline std::string LayerText(const std::string& kind, const std::string& keys = "") {
  return "[[layer]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

inline std::string PrepareText(const std::string& kind, const std::string& keys = "") {
  return "[[prepare]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

inline ExportedNet MakeNet(const std::string& name, const std::string& text) {
  return {name, "name = \"" + name + "\"\n" + text};
}

inline std::vector<ExportedNet> ExportedNets() {
  const std::string squared = "loss = \"mean-squared-error\"\n";
  return {
      MakeNet("perceptron", "input = [8]\n" + LayerText("dense", "outputs = 6") +
                                LayerText("relu") + LayerText("dense", "outputs = 4")),
      // lenet, as Models() has it.
      MakeNet("le-net", "input = [28, 28, 1]\n" +
                            LayerText("conv2d", "outputs = 6\nkernel = 5\npadding = 2") +
                            LayerText("relu") + LayerText("max-pool2d", "size = 2") +
                            LayerText("conv2d", "outputs = 16\nkernel = 5") + LayerText("relu") +
                            LayerText("max-pool2d", "size = 2") + LayerText("flatten") +
                            LayerText("dense", "outputs = 120") + LayerText("relu") +
                            LayerText("dense", "outputs = 84") + LayerText("relu") +
                            LayerText("dense", "outputs = 10")),
      // Behind the Flatten the columns are the convolution's channels.
      MakeNet("windows",
              "input = [12, 3]\n" + LayerText("conv1d", "outputs = 4\nkernel = 3\nstride = 2") +
                  LayerText("tanh") + LayerText("max-pool1d", "size = 2") + LayerText("flatten") +
                  LayerText("sigmoid") + LayerText("dense", "outputs = 3")),
      MakeNet("text", "input = [7]\ntokens = 11\n" + LayerText("embedding", "width = 5") +
                          LayerText("lstm", "units = 6\noutput = \"sequence\"") +
                          LayerText("lstm", "units = 4\noutput = \"last\"") +
                          LayerText("dense", "outputs = 11")),
      MakeNet("one-vs-all",
              "input = [9]\nloss = \"one-vs-all\"\n" + LayerText("dense", "outputs = 5")),
      MakeNet("two-classes",
              "input = [9]\nloss = \"one-vs-all\"\n" + LayerText("dense", "outputs = 1")),
      MakeNet(
          "image",
          "input = [9, 8, 3]\ntarget = \"vector\"\n" + squared +
              LayerText("depthwise-conv2d", "kernel = 3\nstride = 2\nmultiplier = 2\npadding = 1") +
              LayerText("group-norm", "groups = 3") + LayerText("local-response-norm", "size = 3") +
              LayerText("average-pool2d", "size = 3\nstride = 1\npadding = 1") +
              LayerText("conv2d", "outputs = 5\nkernel = 2") + LayerText("relu") +
              LayerText("dense", "outputs = 5")),
      MakeNet("sequence", "input = [10, 2]\n" +
                              LayerText("lstm", "units = 4\noutput = \"sequence\"") +
                              LayerText("conv1d", "outputs = 6\nkernel = 3\npadding = 1") +
                              LayerText("average-pool1d", "size = 2") +
                              LayerText("global-average") + LayerText("dense", "outputs = 3")),
      // Blocks whose shortcut is the tensor, and a convolution; a block within a block.
      MakeNet("residual",
              "input = [6, 5, 2]\n" + LayerText("conv2d", "outputs = 4\nkernel = 3\npadding = 1") +
                  LayerText("group-norm", "groups = 2") + LayerText("relu") +
                  LayerText("fork", "branch = 1") +
                  LayerText("conv2d", "outputs = 4\nkernel = 3\npadding = 1") +
                  LayerText("fork", "branch = 2") + LayerText("relu") +
                  LayerText("add", "branch = 2") + LayerText("add", "branch = 1") +
                  LayerText("relu") + LayerText("fork", "branch = 1") +
                  LayerText("conv2d", "outputs = 6\nkernel = 3\nstride = 2\npadding = 1") +
                  LayerText("swap", "branch = 1") +
                  LayerText("conv2d", "outputs = 6\nkernel = 1\nstride = 2") +
                  LayerText("add", "branch = 1") + LayerText("relu") +
                  LayerText("dense", "outputs = 3")),
      // Sums of tensors whose orders differ in the graph: a convolution's and a dense layer's, an
      // image's and a vector's of one pixel.
      MakeNet("sums", "input = [4, 3, 2]\n" + LayerText("fork", "branch = 7") +
                          LayerText("conv2d", "outputs = 5\nkernel = 2") + LayerText("flatten") +
                          LayerText("swap", "branch = 7") + LayerText("dense", "outputs = 30") +
                          LayerText("add", "branch = 7") + LayerText("tanh") +
                          LayerText("dense", "outputs = 4") + LayerText("fork", "branch = 7") +
                          LayerText("conv2d", "outputs = 4\nkernel = 1") +
                          LayerText("add", "branch = 7") + LayerText("dense", "outputs = 3")),
      // A sequence of an LSTM, and one of a convolution.
      MakeNet("sums-of-sequences",
              "input = [5, 2]\n" + LayerText("fork", "branch = 1") +
                  LayerText("lstm", "units = 3\noutput = \"sequence\"") +
                  LayerText("swap", "branch = 1") + LayerText("conv1d", "outputs = 3\nkernel = 1") +
                  LayerText("add", "branch = 1") + LayerText("dense", "outputs = 3")),
      MakeNet("softmax-images", "input = [4, 5, 3]\n" + LayerText("dense", "outputs = 3")),
      // What prepares samples is part of the net: numbers for all, a channel and a feature.
      MakeNet("prepared",
              "input = [2, 3, 2]\nclasses = [\"rest\", \"walk, slowly\"]\nmissing = 0.5\n" +
                  PrepareText("rescale", "factor = [2.0, 3.0]\noffset = 0.25") +
                  PrepareText("normalise",
                              "mean = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, "
                              "1.1, 1.2]\ndeviation = [1.5, 0.5]") +
                  PrepareText("random-flip") + PrepareText("unit-norm") +
                  LayerText("conv2d", "outputs = 3\nkernel = 2") + LayerText("tanh") +
                  LayerText("dense", "outputs = 2")),
      MakeNet("prepared-windows",
              "input = [5, 2]\n" +
                  PrepareText("normalise", "mean = [0.1, 0.2]\ndeviation = [1.5, 0.5]") +
                  LayerText("dense", "outputs = 3")),
      // Features of a signal: an image, a sequence, a vector of one axis.
      MakeNet("vibration", "input = [300, 2]\n" + PrepareText("difference") +
                               PrepareText("spectrum", "window = 100\nhop = 60\nbands = 12") +
                               PrepareText("normalise", "mean = [-3, -2]\ndeviation = 2.0") +
                               LayerText("conv2d", "outputs = 3\nkernel = 2") + LayerText("relu") +
                               LayerText("flatten") + LayerText("dense", "outputs = 3")),
      MakeNet("speech", "input = [700]\n" +
                            PrepareText("mel",
                                        "window = 256\nhop = 128\nbands = 20\nrate = 8000\n"
                                        "low = 60\nhigh = 4000") +
                            PrepareText("dct", "bands = 20\ncoefficients = 13") +
                            LayerText("conv2d", "outputs = 3\nkernel = 3") + LayerText("tanh") +
                            LayerText("dense", "outputs = 3")),
      MakeNet("one-frame", "input = [64, 3]\n" +
                               PrepareText("spectrum", "window = 64\nhop = 64\nbands = 16") +
                               LayerText("conv1d", "outputs = 4\nkernel = 3") + LayerText("relu") +
                               LayerText("flatten") + LayerText("dense", "outputs = 3")),
      MakeNet("statistics",
              "input = [50, 3]\n" + PrepareText("stats") + LayerText("dense", "outputs = 3")),
      MakeNet("autoencoder", "input = [4, 3, 2]\ntarget = \"input\"\n" + squared +
                                 LayerText("dense", "outputs = 5") + LayerText("tanh") +
                                 LayerText("dense", "outputs = 24")),
  };
}

// One of them, or one in fixed point.
inline ExportedNet FindNet(const std::string& name) {
  for (const ExportedNet& net : ExportedNets()) {
    if (net.name == name) return net;
  }
  throw std::logic_error("no net " + name);
}

// In [-scale, scale).
inline std::vector<float> RandomNumbers(size_t count, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = scale * (static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F);
  }
  return values;
}

}  // namespace sotto
