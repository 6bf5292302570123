// The last transitions of a deep-Q learner. Part of sotto::policy.
//
// A ring: the newest transition takes the place of the oldest. Memory: 8 bytes an input of each
// transition. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sotto/span.h"

namespace sotto {

// In `state` the learner took `action`, got `reward` and came to `next`.
struct QTransition {
  Span<const float> state;  // [inputs]
  size_t action = 0;
  double reward = 0;
  Span<const float> next;    // [inputs]
  bool is_terminal = false;  // nothing comes after `next`
};

class ReplayMemory {
 public:
  //   capacity >= 1
  ReplayMemory(size_t capacity, size_t inputs)
      : inputs_(inputs), entries_(capacity), states_(2 * capacity * inputs) {}

  size_t size() const { return size_; }

  // Copies a transition in.
  void Add(const QTransition& transition) {
    const size_t at = next_;
    next_ = (next_ + 1) % entries_.size();
    size_ = std::min(size_ + 1, entries_.size());
    entries_[at] = transition;
    entries_[at].state = Copy(transition.state, 2 * at);
    entries_[at].next = Copy(transition.next, 2 * at + 1);
  }

  // i < size(); in no order of time. Its spans are valid until the next Add().
  const QTransition& operator[](size_t i) const { return entries_[i]; }

 private:
  Span<const float> Copy(Span<const float> from, size_t slot) {
    float* to = states_.data() + slot * inputs_;
    std::copy(from.begin(), from.end(), to);
    return {to, inputs_};
  }

  size_t inputs_;
  size_t next_ = 0;
  size_t size_ = 0;
  std::vector<QTransition> entries_;
  std::vector<float> states_;
};

}  // namespace sotto
