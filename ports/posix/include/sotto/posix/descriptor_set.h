// One descriptor that is readable while any of several is. Part of sotto/posix.
//
// For a library that has its own descriptors, on an event loop that waits for one. One thread at
// a time.
#pragma once

namespace sotto::posix {

class DescriptorSet {
 public:
  // Throws std::runtime_error if the system gives none.
  DescriptorSet();
  ~DescriptorSet();
  DescriptorSet(const DescriptorSet&) = delete;
  DescriptorSet& operator=(const DescriptorSet&) = delete;

  int descriptor() const { return set_; }

  // The caller owns the descriptor, and removes it before it is closed. Throws std::runtime_error
  // if the system cannot wait for it.
  void Add(int descriptor);
  // Does nothing if it is not in the set.
  void Remove(int descriptor);

 private:
  int set_ = -1;
};

}  // namespace sotto::posix
