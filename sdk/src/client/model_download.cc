#include "sotto/model_download.h"

#include "sotto/bytes.h"
#include "sotto/initial_weights.h"
#include "sotto/num.h"

namespace sotto {

bool HeldModel::is(ByteSpan check) const {
  return is_known_ && check.size() == sizeof(check_) &&
         __builtin_memcmp(check.data(), check_, sizeof(check_)) == 0;
}

void HeldModel::Set(ByteSpan check) {
  is_known_ = check.size() == sizeof(check_);
  if (is_known_) __builtin_memcpy(check_, check.data(), sizeof(check_));
}

Status ModelDownload::Begin(const ModelOffer& offer, const ModelInfo& model, Span<const float> held,
                            Span<float> out) {
  const bool has_check = !offer.check.empty();
  const bool is_known = offer.grid <= kMostGrid && offer.base <= ModelBase::kZeros;
  if (!is_known || (has_check && offer.check.size() != kModelCheckSize)) return Status::kMalformed;
  check_.Set(offer.check);
  grid_ = has_check ? offer.grid : 0;
  base_ = offer.base;
  const bool is_base = has_check && offer.size == 0 && base_ != ModelBase::kZeros;
  code_ = has_check ? offer.code : 0;
  total_ = is_difference() ? offer.size : is_base ? 0 : 4 * model.parameters;
  received_ = 0;
  out_ = out;
  if (is_difference()) return BeginDifference(offer, model, held);
  return is_base ? TakeBase(offer, model, held) : Status::kOk;
}

// The model is the base, which lies on no grid.
Status ModelDownload::TakeBase(const ModelOffer& offer, const ModelInfo& model,
                               Span<const float> held) {
  if (Status s = FindBase(offer, model, held); s != Status::kOk) return s;
  if (from_.data() != out_.data()) {
    __builtin_memcpy(out_.data(), from_.data(), sizeof(float) * out_.size());
  }
  return Status::kOk;
}

Status ModelDownload::FindBase(const ModelOffer& offer, const ModelInfo& model,
                               Span<const float> held) {
  from_ = {};
  if (base_ == ModelBase::kHeld) {
    if (held.empty()) return Status::kMalformed;
    from_ = held;
  } else if (base_ == ModelBase::kInitial) {
    Key key;
    if (offer.weights_key.size() != sizeof(key.bytes)) return Status::kMalformed;
    __builtin_memcpy(key.bytes, offer.weights_key.data(), sizeof(key.bytes));
    if (Status s = InitialWeights(model, key, out_); s != Status::kOk) return s;
    from_ = out_;
  }
  return Status::kOk;
}

Status ModelDownload::BeginDifference(const ModelOffer& offer, const ModelInfo& model,
                                      Span<const float> held) {
  if (Status s = FindBase(offer, model, held); s != Status::kOk) return s;
  const int exponent = static_cast<int>(grid_) - static_cast<int>(kGridOffset);
  if (Status s = reader_.Begin(exponent, total_); s != Status::kOk) return s;
  return total_ == 0 ? reader_.Feed({}, from_, out_) : Status::kOk;
}

bool ModelDownload::IsOf(const ModelOffer& offer) const {
  if (offer.check.empty() || check().empty()) return offer.check.empty() && check().empty();
  if (!check_.is(offer.check) || offer.grid != grid_) return false;
  return !is_difference() || (offer.base == base_ && offer.code == code_ && offer.size == total_);
}

void ModelDownload::PrepareRequest(Request* request) const {
  request->kind = Request::Kind::kGetModel;
  request->code = code_;
  request->offset = received_;
}

Status ModelDownload::Take(ByteSpan bytes) {
  if (bytes.empty() || bytes.size() > total_ - received_) return Status::kMalformed;
  const Status status = is_difference() ? reader_.Feed(bytes, from_, out_) : TakeFloats(bytes);
  if (status == Status::kOk) received_ += static_cast<uint32_t>(bytes.size());
  return status;
}

Status ModelDownload::TakeFloats(ByteSpan bytes) {
  if (bytes.size() % 4 != 0) return Status::kMalformed;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const float value = FloatFromBits(LoadU32Le(bytes.data() + i));
    if (!IsFinite(value)) return Status::kNotFinite;
    out_[(received_ + i) / 4] = value;
  }
  return Status::kOk;
}

Status ModelDownload::Check() const {
  if (check().empty()) return Status::kOk;
  uint8_t found[kModelCheckSize] = {};
  if (Status s = ModelCheck(out_, found); s != Status::kOk) return s;
  return check_.is(found) ? Status::kOk : Status::kMismatch;
}

}  // namespace sotto
