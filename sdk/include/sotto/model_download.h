// The download of one model, as a server offers it. Part of sotto/client.
//
// A model comes as float32, or as the code of a difference from the model that the device holds,
// from the initial model or from zeros (model_difference.h). It is made in the caller's vector,
// part by part, and compared with the offer's check before anybody uses it: parts of two codes, or
// a base that the server did not mean, give another model, and nothing but the check tells.
//
// The caller moves the messages: see client.h. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/messages.h"
#include "sotto/model_difference.h"
#include "sotto/model_info.h"

namespace sotto {

// Which model lies in a place that keeps models: its check, if that is known.
class HeldModel {
 public:
  // [kModelCheckSize] as Request::held says it; empty: nobody knows.
  ByteSpan check() const { return is_known_ ? ByteSpan(check_) : ByteSpan(); }
  bool is(ByteSpan check) const;
  // [kModelCheckSize] copied; empty: nobody knows
  void Set(ByteSpan check);

 private:
  uint8_t check_[kModelCheckSize] = {};
  bool is_known_ = false;
};

class ModelDownload {
 public:
  // Begins a download.
  //   offer  copied; the bytes that it points to are used during the call alone
  //   model  of which `held` and `out` are parameters
  //   held   [model.parameters] the model that the device has said it holds; empty: it has said
  //          that it holds none. Unchanged until the download is whole
  //   out    [model.parameters] the model, once is_whole()
  // Returns kOk; kMalformed for an offer that no server makes of this device: a difference from a
  // model that it does not hold, a check or a key of another size; or kCryptoFailed.
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

  // Of a whole model: kOk, kMismatch if it is not the one that was offered, or kCryptoFailed. A
  // model without a check is taken as it is.
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
