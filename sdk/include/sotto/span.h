// A view of contiguous memory that the caller owns: pointer and length. Part of sotto/base.
//
// A span never allocates, copies or frees. It stays valid as long as the memory it points to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sotto {

// Counts of parameters, offsets into models and sums of int need as many. Smaller processors cannot
// hold a model anyway.
static_assert(sizeof(size_t) >= 4 && sizeof(void*) >= 4 && sizeof(int) >= 4,
              "Sotto needs a processor of 32 bits or more");

template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}

  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}  // NOLINT: implicit by intent

  // Span<T> converts to Span<const T>.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}  // NOLINT

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  // The caller ensures offset <= size() and count <= size() - offset.
  constexpr Span subspan(size_t offset, size_t count) const { return {data_ + offset, count}; }
  constexpr Span subspan(size_t offset) const { return {data_ + offset, size_ - offset}; }
  constexpr Span first(size_t count) const { return {data_, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using ByteSpan = Span<const uint8_t>;
using MutableByteSpan = Span<uint8_t>;

}  // namespace sotto
