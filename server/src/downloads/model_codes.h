// What devices download of a job's models. Part of sotto::server/downloads.
//
// A device that takes differences (kFeatureDifferences) gets a model as the code of its difference
// from the model that it holds, from the job's initial model, or from zeros
// (sotto/model_difference.h). A model on no grid, and one whose code would be longer, it gets as
// float32, as all other devices do.
//
//   Prepare(model)  in the pool: codes from the models that devices have said they hold
//   Publish()       that model is the newest from now on: it is offered
//
// Each pair of a held and a wanted model is coded once: before the model is published, or, of
// models that are not large, with the first offer. The codes of the newest model and of the one
// before it are kept, so a download that has begun may end after the next publication.
//
// Which models devices may hold: the released models of a grid, the last kMostHeldModels of them,
// each kept as its code from zeros. A device that holds another one gets the difference from the
// initial model, or from zeros, which costs hardly more bytes.
//
// Lengths. A code's length tells an observer of the bytes for how long the device was not drawn. So
// zeros follow each code, up to a multiple of kDownloadPadding bytes: most of that is hidden.
//
// Safe from any thread, but Prepare() and Publish(): one thread at a time. Views live until the
// next but one Publish().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sotto/keys.h"
#include "sotto/messages.h"
#include "sotto/model_difference.h"
#include "sotto/model_info.h"
#include "sotto/span.h"

namespace sotto::server {

using SharedParameters = std::shared_ptr<const std::vector<float>>;

constexpr uint32_t kDownloadPadding = 512;  // bytes
constexpr size_t kMostHeldModels = 64;

// Of a larger model no code is made with an offer, which keeps the event loop: until the next
// Prepare() a device gets the difference from the initial model or from zeros, or float32.
constexpr size_t kMostCodedAtOnce = 100'000;  // parameters

// The largest exponent e in [kLeastGridExponent, kMostGridExponent] for which all parameters are
// multiples of 2^e, at most kMostGridUnits of them in magnitude. Absent: there is none. A negative
// zero is on no grid: a code gives the other zero, of other bytes.
std::optional<int> GridOf(Span<const float> parameters);

class ModelCodes {
 public:
  // No model is published yet.
  //   model        of the parameters; its owner may keep it, too
  //   weights_key  public, of the initial model (sotto/initial_weights.h); absent: unknown, or it
  //                does not derive from one. One whose initial weights are all zero is not kept:
  //                the difference from zeros is the same.
  ModelCodes(std::shared_ptr<const ModelInfo> model, const std::optional<Key>& weights_key);
  ~ModelCodes();
  ModelCodes(const ModelCodes&) = delete;
  ModelCodes& operator=(const ModelCodes&) = delete;

  const std::optional<Key>& weights_key() const { return weights_key_; }

  // A model that was released earlier: devices may hold it. In the order of the releases.
  void Keep(Span<const float> released);

  // Publish() without Prepare() does nothing. `next` is never null.
  void Prepare(SharedParameters next);
  void Publish();

  // A device that takes differences holds the model with this check: Prepare() codes from it.
  //   held  Request::held
  void NoteHeld(ByteSpan held);

  // The newest model for a device that holds the one with this check.
  //   held  Request::held
  ModelOffer Offer(ByteSpan held);

  // The bytes that ModelOffer::code names; empty: unknown, for example of an older model.
  ByteSpan Bytes(uint32_t code);

  // Of the newest model.
  std::array<uint8_t, kModelCheckSize> NewestCheck() const;

  // The newest model as little-endian float32. The bytes are made when they are first asked for.
  ByteSpan Float32();

  // How many codes were made so far.
  uint64_t made() const;

 private:
  using Check = std::array<uint8_t, kModelCheckSize>;
  using Base = std::pair<ModelBase, Check>;  // the check is of kHeld alone
  struct Generation;
  // A released model as its code from zeros.
  struct HeldModel {
    int exponent = 0;
    std::vector<uint8_t> code;
  };
  using SharedHeldModel = std::shared_ptr<const HeldModel>;
  struct Code {
    uint32_t name = 0;
    std::vector<uint8_t> bytes;
  };

  static std::optional<Check> CheckIn(ByteSpan held);
  std::vector<float> ParametersOf(const Base& base, const HeldModel* held) const;
  Code MakeCode(const Generation& wanted, const Base& base, const HeldModel* held) const;
  const Code* CodeOf(Generation& wanted, const Base& base);
  Base BaseWithoutHeld() const;
  static SharedHeldModel HeldModelOf(const Generation& generation);
  void KeepHeld(const Check& check, SharedHeldModel held);

  const std::shared_ptr<const ModelInfo> model_;
  std::optional<Key> weights_key_;
  Check initial_check_{};  // of the initial model, with a key

  mutable std::mutex mutex_;               // guards the members below
  bool is_used_ = false;                   // a device takes differences
  std::set<Check> noted_;                  // models that devices hold, by what they said
  std::map<Check, SharedHeldModel> held_;  // that devices may hold, without the newest
  std::deque<Check> held_order_;           // the oldest first
  std::unique_ptr<Generation> next_;
  SharedHeldModel leaving_;  // the newest, as it is held once `next_` is published; may be null
  std::unique_ptr<Generation> newest_;
  std::unique_ptr<Generation> before_;
  uint64_t made_ = 0;
};

}  // namespace sotto::server
