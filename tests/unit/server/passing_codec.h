// A codec for tests: Gau-LRQ's, call by call. A test's codec derives from it and changes one call.
#pragma once

#include <memory>

#include "codec/codecs.h"

namespace sotto::server {

class PassingCodec : public UpdateCodec {
 public:
  explicit PassingCodec(const TrainTask& task) : inner_(RequireCodec("gau-lrq").make(task)) {}
  size_t MaxSize(uint32_t coordinates) const override { return inner_->MaxSize(coordinates); }
  double SumUnit() const override { return inner_->SumUnit(); }
  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override {
    return inner_->Add(origin, encoded, sum);
  }
  void AddZeroUpdate(const Key& key, uint32_t number, Accumulator& sum) const override {
    inner_->AddZeroUpdate(key, number, sum);
  }

 private:
  std::unique_ptr<const UpdateCodec> inner_;
};

}  // namespace sotto::server
