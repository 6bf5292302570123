// The download of one model, as a server offers it. Part of sotto/client.
//
// A server sends a model as float32, or as the code of a difference from the model that the device
// holds, from the initial model or from zeros (model_difference.h). The download makes the model in
// the caller's vector, part by part, and compares it with the offer's check before anybody uses it.
// Parts of two codes, or a base that the server did not mean, give another model, and only the
// check reveals it.
//
// The caller moves the messages: see client.h. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/messages.h"
#include "sotto/model_difference.h"
#include "sotto/model_info.h"

namespace sotto {

// The check of the model that a place holds, if it is known.
class HeldModel {
 public:
  // [kModelCheckSize] for Request::held; empty: not known.
  ByteSpan check() const { return is_known_ ? ByteSpan(check_) : ByteSpan(); }
  bool is(ByteSpan check) const;
  // [kModelCheckSize] copied; empty: not known
  void Set(ByteSpan check);

 private:
  uint8_t check_[kModelCheckSize] = {};
  bool is_known_ = false;
};

class ModelDownload {
 public:
  // Begins a download.
  //   offer  copied; the bytes that it points to are used only during the call
  //   model  the net of `held` and `out`
  //   held   [model.parameters] the model that the device holds, as its Hello said; empty: none.
  //          It must not change until the download is complete
  //   out    [model.parameters] the model, once is_whole()
  // Returns kOk; kMalformed for an offer that no server makes to this device: a difference from a
  // model that it does not hold, or a check or a key of another size; or kCryptoFailed.
  Status Begin(const ModelOffer& offer, const ModelInfo& model, Span<const float> held,
               Span<float> out);

  // Whether this download may go on at its next byte under that offer.
  bool IsOf(const ModelOffer& offer) const;

  // Fills in a request for the next bytes.
  void PrepareRequest(Request* request) const;

  // Takes the next bytes of the model. Returns kOk, kMalformed for bytes that do not belong to it,
  // or kNotFinite.
  Status Take(ByteSpan bytes);

  bool is_whole() const { return received_ == total_; }
  uint32_t received() const { return received_; }  // bytes

  // Checks a complete model. Returns kOk, kMismatch if it is not the offered model, or
  // kCryptoFailed. A model whose offer has no check always passes.
  Status Check() const;

  // [kModelCheckSize] of the offer; empty: the server is an old one.
  ByteSpan check() const { return check_.check(); }
  bool is_from_held() const { return is_difference() && base_ == ModelBase::kHeld; }

 private:
  bool is_difference() const { return grid_ != 0; }
  Status FindBase(const ModelOffer& offer, const ModelInfo& model, Span<const float> held);
  Status TakeBase(const ModelOffer& offer, const ModelInfo& model, Span<const float> held);
  Status BeginDifference(const ModelOffer& offer, const ModelInfo& model, Span<const float> held);
  Status TakeFloats(ByteSpan bytes);

  HeldModel check_;
  uint32_t grid_ = 0;
  ModelBase base_ = ModelBase::kHeld;
  uint32_t code_ = 0;
  uint32_t total_ = 0;     // bytes
  uint32_t received_ = 0;  // bytes
  Span<const float> from_;
  Span<float> out_;
  DifferenceReader reader_;
};

}  // namespace sotto
