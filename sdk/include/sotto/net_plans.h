// From the entries of a net to plans, with the branches that wait at each, for nn.h only.
// Part of sotto/nn.
#pragma once

#include <type_traits>

#include "sotto/layers/branches.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

template <uint32_t number, uint32_t height, uint32_t width, uint32_t channels>
struct Branch {
  static constexpr uint32_t kNumber = number;
  static constexpr Shape kShape = {height, width, channels};
};

// The branches that wait. No two have the same number.
template <class... Waiting>
struct Branches {
  static constexpr bool kIsEmpty = sizeof...(Waiting) == 0;

  static constexpr bool Has([[maybe_unused]] uint32_t number) {
    return ((Waiting::kNumber == number) || ...);
  }

  // Of a branch that waits.
  static constexpr Shape ShapeAt([[maybe_unused]] uint32_t number) {
    Shape shape;
    ((shape = Waiting::kNumber == number ? Waiting::kShape : shape), ...);
    return shape;
  }

  template <class Branch>
  using With = Branches<Waiting..., Branch>;
};

// Joined with the branches in front.
template <class Left, class Right>
struct Join;
template <class... Left, class... Right>
struct Join<Branches<Left...>, Branches<Right...>> {
  using Type = Branches<Left..., Right...>;
};

template <uint32_t number, class Waiting>
struct Without;
template <uint32_t number>
struct Without<number, Branches<>> {
  using Type = Branches<>;
};
template <uint32_t number, class First, class... Rest>
struct Without<number, Branches<First, Rest...>>
    : Join<std::conditional_t<First::kNumber == number, Branches<>, Branches<First>>,
           typename Without<number, Branches<Rest...>>::Type> {};

// A compiler that stops here names, as template arguments, the two layers that do not fit and the
// shape between them.
//   Waiting  the branches before Layer; Next: those behind it
template <class Before, class Layer, uint32_t height, uint32_t width, uint32_t channels,
          class Waiting>
struct Connection {
  static_assert(Layer::Fits({height, width, channels}),
                "Layer does not take the output of the layer Before it, which has this height, "
                "width and number of channels");
  static constexpr LayerPlan kPlan = Layer::Plan({height, width, channels});
  using Next = Waiting;
};

template <class Before, uint32_t number, uint32_t height, uint32_t width, uint32_t channels,
          class Waiting>
struct Connection<Before, Fork<number>, height, width, channels, Waiting> {
  static_assert(!Waiting::Has(number),
                "Fork begins a branch whose number waits already: an Add ends it, or take another "
                "number");
  static constexpr LayerPlan kPlan = ForkPlan(number, {height, width, channels});
  using Next = typename Waiting::template With<Branch<number, height, width, channels>>;
};

template <class Before, uint32_t number, uint32_t height, uint32_t width, uint32_t channels,
          class Waiting>
struct Connection<Before, Swap<number>, height, width, channels, Waiting> {
  static_assert(Waiting::Has(number),
                "Swap takes a branch that no Fork before it has begun, or that has ended");
  static constexpr LayerPlan kPlan =
      SwapPlan(number, {height, width, channels}, Waiting::ShapeAt(number));
  using Next =
      typename Without<number,
                       Waiting>::Type::template With<Branch<number, height, width, channels>>;
};

template <class Before, uint32_t number, uint32_t height, uint32_t width, uint32_t channels,
          class Waiting>
struct Connection<Before, Add<number>, height, width, channels, Waiting> {
  static_assert(Waiting::Has(number),
                "Add takes a branch that no Fork before it has begun, or that has ended");
  static_assert(!Waiting::Has(number) || Waiting::ShapeAt(number) == Shape{height, width, channels},
                "Add takes two tensors of one shape: the layer Before it gives this height, width "
                "and number of channels, and the branch of that number in Waiting has others");
  static constexpr LayerPlan kPlan = AddPlan(number, {height, width, channels});
  using Next = typename Without<number, Waiting>::Type;
};

template <class Entry, class = void>
struct IsLoss : std::false_type {};
template <class Entry>
struct IsLoss<Entry, std::enable_if_t<std::is_same_v<decltype(Entry::Plan()), LossPlan>>>
    : std::true_type {};

// The plans of the layers behind Before, whose output has that shape. Behind them a loss.
//   Waiting  the Branches that wait there
template <class Waiting, uint32_t height, uint32_t width, uint32_t channels, class Before,
          class... Entries>
struct Plans {
  static_assert(Waiting::kIsEmpty, "a branch that begins at a Fork ends at an Add");
  static constexpr void Write(LayerPlan*) {}
};
template <class Waiting, uint32_t height, uint32_t width, uint32_t channels, class Before,
          class Entry, class... Rest>
struct Plans<Waiting, height, width, channels, Before, Entry, Rest...> {
  static constexpr void Write(LayerPlan* out) {
    if constexpr (IsLoss<Entry>::value) {
      Plans<Waiting, height, width, channels, Before>::Write(out);
    } else {
      using Here = Connection<Before, Entry, height, width, channels, Waiting>;
      constexpr Shape next = Here::kPlan.info.output;
      *out = Here::kPlan;
      Plans<typename Here::Next, next.height, next.width, next.channels, Entry, Rest...>::Write(
          out + 1);
    }
  }
};

}  // namespace sotto::nn::internal
