// DifferenceReader takes any bytes for any base. They give a model on the grid, or are refused, the
// same way whatever the parts are. A model that they give has a code that is no longer.
//
// Input: -exponent, coordinates, bytes of a part (bytes); held parameters (float32); the code.
#include "sotto/model_difference.h"

#include <vector>

#include "fuzz/input.h"
#include "sotto/bytes.h"
#include "sotto/num.h"

namespace sotto::fuzz {
namespace {

Status Decode(ByteSpan code, int exponent, const std::vector<float>& held, size_t part,
              std::vector<float>* model) {
  DifferenceReader reader;
  Require(reader.Begin(exponent, static_cast<uint32_t>(code.size())) == Status::kOk, "codes begin");
  do {
    const size_t count = code.size() < part ? code.size() : part;
    const Status status =
        reader.Feed(code.first(count), {held.data(), held.size()}, {model->data(), model->size()});
    if (status != Status::kOk) return status;
    code = code.subspan(count);
  } while (!code.empty());
  Require(reader.position() == model->size(), "a whole code gives a whole model");
  return Status::kOk;
}

void CheckReader(Input& input) {
  const int exponent = -(input.TakeByte() % (1 - kLeastGridExponent));
  std::vector<float> held(1 + input.TakeByte() % 64);
  const size_t part = 1 + input.TakeByte() % 100;
  for (float& x : held) {
    x = FloatFromBits(input.TakeU32());
    if (!IsFinite(x)) x = 0.0F;
  }
  const ByteSpan code = input.rest();
  std::vector<float> model(held.size());
  std::vector<float> again(held.size());
  const Status status = Decode(code, exponent, held, code.size() + 1, &model);
  Require(Decode(code, exponent, held, part, &again) == status, "parts are taken as the whole is");
  if (status != Status::kOk) return;
  Require(model == again, "parts give what the whole gives");
  std::vector<uint8_t> out(MaxDifferenceBytes(held.size()));
  size_t size = 0;
  Require(EncodeDifference({held.data(), held.size()}, {model.data(), model.size()}, exponent,
                           {out.data(), out.size()}, &size) == Status::kOk,
          "what is read lies on the grid");
  Require(size <= code.size(), "no code is shorter than the encoder's");
  Require(Decode({out.data(), size}, exponent, held, part, &again) == Status::kOk && model == again,
          "what is read survives encoding");
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::fuzz::Input input(data, size);
  sotto::fuzz::CheckReader(input);
  return 0;
}
