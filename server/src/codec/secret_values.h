// Memory for one decoded update, wiped by the destructor. Part of sotto::server/codec.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/span.h"

namespace sotto::server {

class SecretValues {
 public:
  explicit SecretValues(size_t count) : values_(count) {}
  SecretValues(const SecretValues&) = delete;
  SecretValues& operator=(const SecretValues&) = delete;
  ~SecretValues() { SecureWipe(values_.data(), values_.size() * sizeof(values_[0])); }

  Span<int32_t> view() { return {values_.data(), values_.size()}; }

 private:
  std::vector<int32_t> values_;
};

}  // namespace sotto::server
