// What belongs to the tensors of a net, from layer to layer and through its branches: shapes, the
// order of numbers in an export, names in a graph. Part of sotto::model_file.
//
// sotto/layers/branches.h says what the layers of branches do. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sotto/layer.h"

namespace sotto::posix {

template <class Value>
class BranchValues {
 public:
  // What belongs to the output of a layer whose input has `value`. The layers come in their order,
  // and the net is a valid one: what is taken waits.
  //   behind  Value(Value): of a layer that has nothing to do with branches
  //   sum     Value(Value, Value): of an add, of its input and of the branch
  template <class Behind, class Sum>
  Value Follow(const nn::LayerInfo& layer, Value value, const Behind& behind, const Sum& sum) {
    switch (layer.kind) {
      case nn::LayerKind::kFork:
        waiting_.emplace(layer.size, value);
        return value;
      case nn::LayerKind::kSwap:
        std::swap(waiting_.at(layer.size), value);
        return value;
      case nn::LayerKind::kAdd:
        return sum(value, std::move(waiting_.extract(layer.size).mapped()));
      default:
        return behind(value);
    }
  }

  // By the numbers of the branches.
  const std::map<uint32_t, Value>& waiting() const { return waiting_; }

 private:
  std::map<uint32_t, Value> waiting_;
};

}  // namespace sotto::posix
