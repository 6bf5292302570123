// For tests: a device that holds a model and takes what it is offered, as sotto/messages.h says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "base/bytes.h"
#include "sotto/initial_weights.h"
#include "sotto/messages.h"
#include "sotto/model_difference.h"
#include "sotto/model_info.h"

namespace sotto::server {

class Holder {
 public:
  using Ask = std::function<Reply(const Request&)>;

  explicit Holder(const ModelInfo& model) : model_(model) {}

  ByteSpan held() const { return {check_.data(), check_.size()}; }
  const std::vector<float>& parameters() const { return parameters_; }
  size_t bytes() const { return bytes_; }  // of the last download

  // Makes the offered model, and compares it with its check.
  void Take(const ModelOffer& offer, const Ask& ask) {
    ASSERT_EQ(offer.check.size(), kModelCheckSize);
    const std::vector<uint8_t> wanted(offer.check.begin(), offer.check.end());
    std::vector<float> base = BaseOf(offer);
    const std::vector<uint8_t> code = Fetch(offer, ask);
    bytes_ = code.size();
    if (offer.grid == 0) {
      parameters_ = offer.size == 0 ? base : FloatsOf({code.data(), code.size()});
    } else {
      parameters_.assign(model_.parameters, 0);
      DifferenceReader reader;
      ASSERT_EQ(
          reader.Begin(static_cast<int>(offer.grid) - static_cast<int>(kGridOffset), offer.size),
          Status::kOk);
      ASSERT_EQ(reader.Feed({code.data(), code.size()}, {base.data(), base.size()},
                            {parameters_.data(), parameters_.size()}),
                Status::kOk);
      ASSERT_EQ(reader.position(), model_.parameters);
    }
    uint8_t check[kModelCheckSize];
    ASSERT_EQ(ModelCheck({parameters_.data(), parameters_.size()}, check), Status::kOk);
    check_.assign(check, check + kModelCheckSize);
    EXPECT_EQ(check_, wanted);
  }

 private:
  std::vector<float> BaseOf(const ModelOffer& offer) const {
    if (offer.base == ModelBase::kHeld) return parameters_;
    std::vector<float> base;
    if (offer.base == ModelBase::kInitial) {
      Key key;
      std::copy(offer.weights_key.begin(), offer.weights_key.end(), key.bytes);
      base.resize(model_.parameters);
      EXPECT_EQ(InitialWeights(model_, key, {base.data(), base.size()}), Status::kOk);
    }
    return base;
  }

  static std::vector<uint8_t> Fetch(const ModelOffer& offer, const Ask& ask) {
    std::vector<uint8_t> code;
    while (code.size() < offer.size) {
      Request request;
      request.kind = Request::Kind::kGetModel;
      request.code = offer.code;
      request.offset = static_cast<uint32_t>(code.size());
      const Reply reply = ask(request);
      EXPECT_EQ(reply.kind, Reply::Kind::kModelChunk);
      if (reply.kind != Reply::Kind::kModelChunk) break;
      code.insert(code.end(), reply.bytes.begin(), reply.bytes.end());
    }
    EXPECT_EQ(code.size(), offer.size);
    return code;
  }

  const ModelInfo& model_;
  std::vector<float> parameters_;
  std::vector<uint8_t> check_;
  size_t bytes_ = 0;
};

}  // namespace sotto::server
