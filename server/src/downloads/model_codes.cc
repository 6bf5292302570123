#include "downloads/model_codes.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/initial_weights.h"
#include "sotto/posix/check.h"

namespace sotto::server {
namespace {

// The exponent of the lowest digit of a finite value that is not 0.
int LowestDigit(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);  // 24 digits behind the point
  const auto digits = static_cast<int32_t>(std::ldexp(std::fabs(fraction), 24));
  int lowest = exponent - 24;
  for (int32_t rest = digits; (rest & 1) == 0; rest >>= 1) ++lowest;
  return lowest;
}

std::array<uint8_t, kModelCheckSize> CheckOf(Span<const float> parameters) {
  uint8_t check[kModelCheckSize];
  posix::Check(ModelCheck(parameters, check), "a model's check");
  std::array<uint8_t, kModelCheckSize> copy{};
  std::copy_n(check, kModelCheckSize, copy.begin());
  return copy;
}

Span<const float> ViewOf(const std::vector<float>& numbers) {
  return {numbers.data(), numbers.size()};
}

std::vector<uint8_t> Encode(Span<const float> held, Span<const float> wanted, int exponent) {
  std::vector<uint8_t> code(MaxDifferenceBytes(wanted.size()));
  size_t size = 0;
  posix::Check(EncodeDifference(held, wanted, exponent, {code.data(), code.size()}, &size),
               "the code of a model");
  return {code.begin(), code.begin() + static_cast<ptrdiff_t>(size)};
}

// Names are as good as random: a code that is asked for under the name of another one is found out
// by the model's check.
uint32_t NameOf(uint8_t base, const std::array<uint8_t, kModelCheckSize>& held,
                const std::array<uint8_t, kModelCheckSize>& wanted) {
  std::vector<uint8_t> text = {base};
  text.insert(text.end(), held.begin(), held.end());
  text.insert(text.end(), wanted.begin(), wanted.end());
  const uint32_t name = LoadU32Le(Sha256Of({text.data(), text.size()}).data());
  return name == 0 ? 1 : name;
}

constexpr uint8_t kFloat32 = 255;  // in place of a base, for NameOf()

}  // namespace

std::optional<int> GridOf(Span<const float> parameters) {
  int exponent = kMostGridExponent;
  float most = 0;
  for (const float value : parameters) {
    if (!std::isfinite(value) || (value == 0 && std::signbit(value))) return std::nullopt;
    most = std::max(most, std::fabs(value));
    if (value != 0) exponent = std::min(exponent, LowestDigit(value));
    if (exponent < kLeastGridExponent) return std::nullopt;
  }
  const bool fits = std::ldexp(most, -exponent) <= static_cast<float>(kMostGridUnits);
  return fits ? std::make_optional(exponent) : std::nullopt;
}

// A published model, or one that is about to be.
struct ModelCodes::Generation {
  explicit Generation(SharedParameters of)
      : model(std::move(of)),
        check(CheckOf(ViewOf(*model))),
        exponent(GridOf(ViewOf(*model))),
        float32_name(NameOf(kFloat32, {}, check)) {}

  const SharedParameters model;
  const Check check;
  const std::optional<int> exponent;
  const uint32_t float32_name;
  std::vector<uint8_t> float32;  // empty: nobody has asked for it
  std::map<Base, Code> codes;

  Span<const float> parameters() const { return ViewOf(*model); }
  ByteSpan Float32() {
    if (float32.empty()) float32 = BytesOf(parameters());
    return {float32.data(), float32.size()};
  }
  ByteSpan Bytes(uint32_t code) {
    if (code == float32_name) return Float32();
    for (const auto& [base, made] : codes) {
      if (made.name == code) return {made.bytes.data(), made.bytes.size()};
    }
    return {};
  }
};

ModelCodes::ModelCodes(std::shared_ptr<const ModelInfo> model,
                       const std::optional<Key>& weights_key)
    : model_(std::move(model)), weights_key_(weights_key) {
  if (!weights_key_) return;
  const std::vector<float> initial = ParametersOf({ModelBase::kInitial, {}}, nullptr);
  if (std::all_of(initial.begin(), initial.end(), [](float value) { return value == 0; })) {
    weights_key_.reset();
  } else {
    initial_check_ = CheckOf(ViewOf(initial));
  }
}

ModelCodes::~ModelCodes() = default;

std::optional<ModelCodes::Check> ModelCodes::CheckIn(ByteSpan held) {
  if (held.size() != kModelCheckSize) return std::nullopt;
  Check check{};
  std::copy(held.begin(), held.end(), check.begin());
  return check;
}

ModelCodes::SharedHeldModel ModelCodes::HeldModelOf(const Generation& generation) {
  if (!generation.exponent) return nullptr;
  return std::make_shared<const HeldModel>(
      HeldModel{*generation.exponent, Encode({}, generation.parameters(), *generation.exponent)});
}

void ModelCodes::KeepHeld(const Check& check, SharedHeldModel held) {
  if (held == nullptr || !held_.emplace(check, std::move(held)).second) return;
  held_order_.push_back(check);
  if (held_order_.size() <= kMostHeldModels) return;
  held_.erase(held_order_.front());
  held_order_.pop_front();
}

void ModelCodes::Keep(Span<const float> released) {
  const Generation generation(
      std::make_shared<const std::vector<float>>(released.begin(), released.end()));
  SharedHeldModel held = HeldModelOf(generation);
  const std::lock_guard<std::mutex> lock(mutex_);
  KeepHeld(generation.check, std::move(held));
}

void ModelCodes::Prepare(SharedParameters next) {
  auto generation = std::make_unique<Generation>(std::move(next));
  std::vector<std::pair<Base, SharedHeldModel>> bases = {{BaseWithoutHeld(), nullptr}};
  const Generation* newest = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_used_) newest = newest_.get();  // only Publish() changes it
    for (const Check& check : std::exchange(noted_, {})) {
      const auto found = held_.find(check);
      if (found != held_.end()) bases.push_back({{ModelBase::kHeld, check}, found->second});
    }
  }
  const SharedHeldModel leaving = newest == nullptr ? nullptr : HeldModelOf(*newest);
  if (leaving != nullptr) bases.push_back({{ModelBase::kHeld, newest->check}, leaving});
  const bool are_wanted = newest != nullptr && generation->exponent;
  for (const auto& [base, held] : bases) {
    if (are_wanted) generation->codes.emplace(base, MakeCode(*generation, base, held.get()));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  made_ += generation->codes.size();
  next_ = std::move(generation);
  leaving_ = leaving;
}

void ModelCodes::Publish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_ == nullptr) return;
  const bool may_be_held = is_used_ && newest_ != nullptr;
  if (may_be_held) {
    KeepHeld(newest_->check, leaving_ != nullptr ? leaving_ : HeldModelOf(*newest_));
  }
  leaving_.reset();
  before_ = std::exchange(newest_, std::move(next_));
}

void ModelCodes::NoteHeld(ByteSpan held) {
  const std::optional<Check> check = CheckIn(held);
  const std::lock_guard<std::mutex> lock(mutex_);
  is_used_ = true;
  if (check && held_.count(*check) != 0) noted_.insert(*check);
}

ModelCodes::Base ModelCodes::BaseWithoutHeld() const {
  return {weights_key_ ? ModelBase::kInitial : ModelBase::kZeros, {}};
}

// [parameters]; empty: zeros.
std::vector<float> ModelCodes::ParametersOf(const Base& base, const HeldModel* held) const {
  if (base.first == ModelBase::kZeros) return {};
  std::vector<float> parameters(model_->parameters);
  const Span<float> out(parameters.data(), parameters.size());
  if (base.first == ModelBase::kInitial) {
    posix::Check(InitialWeights(*model_, *weights_key_, out), "the initial weights");
    return parameters;
  }
  DifferenceReader reader;
  posix::Check(reader.Begin(held->exponent, static_cast<uint32_t>(held->code.size())),
               "a model that is held");
  posix::Check(reader.Feed({held->code.data(), held->code.size()}, {}, out),
               "a model that is held");
  return parameters;
}

ModelCodes::Code ModelCodes::MakeCode(const Generation& wanted, const Base& base,
                                      const HeldModel* held) const {
  const std::vector<float> from = ParametersOf(base, held);
  Code code{NameOf(static_cast<uint8_t>(base.first), base.second, wanted.check),
            Encode(ViewOf(from), wanted.parameters(), *wanted.exponent)};
  const size_t padded =
      (code.bytes.size() + kDownloadPadding - 1) / kDownloadPadding * kDownloadPadding;
  code.bytes.resize(padded);
  code.bytes.shrink_to_fit();
  return code;
}

// Null: it is not there, and would take long to make.
const ModelCodes::Code* ModelCodes::CodeOf(Generation& wanted, const Base& base) {
  const auto found = wanted.codes.find(base);
  if (found != wanted.codes.end()) return &found->second;
  if (!wanted.exponent || wanted.model->size() > kMostCodedAtOnce) return nullptr;
  const auto held = held_.find(base.second);
  ++made_;
  return &wanted.codes
              .emplace(base,
                       MakeCode(wanted, base, held == held_.end() ? nullptr : held->second.get()))
              .first->second;
}

ModelCodes::Check ModelCodes::NewestCheck() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_->check;
}

ModelOffer ModelCodes::Offer(ByteSpan held) {
  const std::optional<Check> check = CheckIn(held);
  const std::lock_guard<std::mutex> lock(mutex_);
  is_used_ = true;
  Generation& wanted = *newest_;
  ModelOffer offer;
  offer.check = {wanted.check.data(), wanted.check.size()};
  const auto from = [&](ModelBase base) {
    offer.base = base;
    if (base == ModelBase::kInitial) offer.weights_key = weights_key_->bytes;
  };
  if (check && *check == wanted.check) return offer;  // the device holds it
  if (weights_key_ && wanted.check == initial_check_) {
    from(ModelBase::kInitial);
    return offer;
  }
  const bool is_known = check && held_.count(*check) != 0;
  Base base = is_known ? Base{ModelBase::kHeld, *check} : BaseWithoutHeld();
  const Code* code = CodeOf(wanted, base);
  if (code == nullptr && is_known) code = CodeOf(wanted, base = BaseWithoutHeld());
  const size_t float32_size = 4 * wanted.model->size();
  if (code == nullptr || code->bytes.size() > float32_size) {
    from(ModelBase::kZeros);
    offer.size = static_cast<uint32_t>(float32_size);
    offer.code = wanted.float32_name;
    return offer;
  }
  offer.grid = static_cast<uint32_t>(*wanted.exponent + static_cast<int>(kGridOffset));
  from(base.first);
  offer.size = static_cast<uint32_t>(code->bytes.size());
  offer.code = code->bytes.empty() ? 0 : code->name;
  return offer;
}

ByteSpan ModelCodes::Bytes(uint32_t code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Generation* generation : {newest_.get(), before_.get()}) {
    const ByteSpan bytes = generation == nullptr ? ByteSpan() : generation->Bytes(code);
    if (!bytes.empty()) return bytes;
  }
  return {};
}

ByteSpan ModelCodes::Float32() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_->Float32();
}

uint64_t ModelCodes::made() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return made_;
}

}  // namespace sotto::server
