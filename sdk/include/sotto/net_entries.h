// The entries of a net, and the steps among them, for nn.h only. Part of sotto/nn.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sotto/preparation.h"

namespace sotto::nn {

template <class... Entries>
struct Block;  // nn.h

namespace internal {

template <class... Entries>
struct List {};

// Entries without Block around them.
template <class EntryList, class... Entries>
struct Flat {
  using All = EntryList;
};
template <class... Done, class First, class... Rest>
struct Flat<List<Done...>, First, Rest...> : Flat<List<Done..., First>, Rest...> {};
template <class... Done, class... Inner, class... Rest>
struct Flat<List<Done...>, Block<Inner...>, Rest...> : Flat<List<Done...>, Inner..., Rest...> {};

template <class... Entries>
constexpr size_t Count(List<Entries...>) {
  return sizeof...(Entries);
}

// A compiler that stops here names, as template arguments, the step and the shape of what it takes.
template <class Step, uint32_t height, uint32_t width, uint32_t channels>
struct PreparationOf {
  static_assert(FitsPreparation(Step::Step(), {height, width, channels}),
                "a step has one number, one a channel or one a feature of the sample, which has "
                "this height, width and number of channels; random steps take images, and a crop's "
                "padding is from 1 to less than height and width; features of a signal take one "
                "row, frames that fit into it, and at most as many bands as a hop has readings");
  static constexpr PreparationStep kStep = PlacedStep(Step::Step(), {height, width, channels});
};

template <class Entry, class = void>
struct IsPreparation : std::false_type {};
template <class Entry>
struct IsPreparation<Entry,
                     std::enable_if_t<std::is_same_v<decltype(Entry::Step()), PreparationStep>>>
    : std::true_type {};

template <class StepList, class EntryList>
struct Divided {
  using Steps = StepList;
  using Others = EntryList;
};

// The steps that prepare samples, at the front of a net's entries, and the other entries.
template <class StepList, class... Entries>
struct Divide;
template <class... Steps>
struct Divide<List<Steps...>> : Divided<List<Steps...>, List<>> {
  static_assert(sizeof...(Steps) == 0, "a net has at least one layer");
};
template <class... Steps, class First, class... Rest>
struct Divide<List<Steps...>, First, Rest...>
    : std::conditional_t<IsPreparation<First>::value, Divide<List<Steps..., First>, Rest...>,
                         Divided<List<Steps...>, List<First, Rest...>>> {
  static_assert(IsPreparation<First>::value || (!IsPreparation<Rest>::value && ...),
                "a step that prepares samples stands before all layers");
};

// Writes steps; each step takes the output of the previous one.
template <uint32_t height, uint32_t width, uint32_t channels, class... Steps>
struct PlacedSteps {
  static constexpr void Write(PreparationStep*) {}
};
template <uint32_t height, uint32_t width, uint32_t channels, class First, class... Rest>
struct PlacedSteps<height, width, channels, First, Rest...> {
  static constexpr void Write(PreparationStep* steps) {
    constexpr PreparationStep kStep = PreparationOf<First, height, width, channels>::kStep;
    *steps = kStep;
    PlacedSteps<kStep.output.height, kStep.output.width, kStep.output.channels, Rest...>::Write(
        steps + 1);
  }
};

template <size_t count>
struct StepArray {
  PreparationStep steps[count > 0 ? count : 1] = {};
};

template <uint32_t height, uint32_t width, uint32_t channels, class StepList>
struct Preparations;
template <uint32_t height, uint32_t width, uint32_t channels, class... Steps>
struct Preparations<height, width, channels, List<Steps...>> {
  static constexpr auto Make() {
    StepArray<sizeof...(Steps)> array;
    PlacedSteps<height, width, channels, Steps...>::Write(array.steps);
    return array;
  }
  static constexpr auto kSteps = Make();
  static constexpr Span<const PreparationStep> All() { return {kSteps.steps, sizeof...(Steps)}; }
  static constexpr Shape kPrepared = PreparedShape(All(), {height, width, channels});
  static constexpr size_t kFloats = PreparationFloats(All(), {height, width, channels});
};

}  // namespace internal
}  // namespace sotto::nn
