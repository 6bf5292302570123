#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/sample_log.h"

namespace sotto {
namespace {

constexpr uint32_t kWordBits = 32;

// The place of mark number `index`; there are more marks than that. It calls no compiler's function
// that counts bits, which a firmware would have to link.
uint32_t PlaceOf(Span<const uint32_t> marks, uint32_t index) {
  for (size_t i = 0; i < marks.size(); ++i) {
    for (uint32_t word = marks[i]; word != 0; word &= word - 1) {
      if (index-- == 0) {
        return kWordBits * static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(word));
      }
    }
  }
  return 0;
}

float ElementAt(const uint8_t* raw, SampleElement element, size_t index) {
  switch (element) {
    case SampleElement::kByte:
      return static_cast<float>(raw[index]);
    case SampleElement::kInt16:
      return static_cast<float>(
          static_cast<int16_t>(static_cast<uint16_t>(raw[2 * index] | raw[2 * index + 1] << 8)));
    case SampleElement::kFloat32:
      break;
  }
  return FloatFromBits(LoadU32Le(raw + 4 * index));
}

}  // namespace

Status SampleSnapshot::Check() const {
  if (!log_->is_open()) return Status::kWrongState;
  const bool has_vector = model_.loss.target == nn::TargetKind::kVector;
  if (has_vector || model_.layers[0].tokens > 0 || model_.inputs != log_->config().Elements()) {
    return Status::kMismatch;
  }
  if (memory_.size() < log_->config().SnapshotWords(log_->memory_.page_size)) {
    return Status::kBufferTooSmall;
  }
  return log_->held_from_ == SampleLog::kNoLap ? Status::kOk : Status::kWrongState;
}

void SampleSnapshot::Release() {
  if (is_held_) log_->held_from_ = SampleLog::kNoLap;
  is_held_ = false;
  training_ = held_out_ = 0;
}

// Of a ring that is not full yet, the pages that come next are empty.
Status SampleSnapshot::Take() {
  Release();
  take_status_ = Check();
  if (take_status_ != Status::kOk) return take_status_;
  const SampleLogConfig& config = log_->config();
  const uint32_t kept = config.pages - config.reserve_pages;
  const uint32_t first_lap = log_->lap_ < kept ? 0 : log_->lap_ + 1 - kept;
  for (uint32_t& word : memory_) word = 0;
  first_ = first_lap * log_->slots_;
  is_held_ = true;
  log_->held_from_ = first_lap;
  if (!log_->has_page_) return Status::kOk;
  for (uint32_t lap = first_lap; lap <= log_->lap_; ++lap) {
    if (!log_->HasPage(lap)) continue;
    const uint32_t slots = lap == log_->lap_ ? log_->slot_ : log_->slots_;
    for (uint32_t slot = 0; slot < slots; ++slot) Mark(lap * log_->slots_ + slot);
  }
  return Status::kOk;
}

// If it is whole, and of use to the model.
void SampleSnapshot::Mark(uint32_t sequence) {
  uint32_t label = kUnlabelled;
  if (!log_->IsWhole(sequence, &label)) return;
  if (model_.classes > 0 && label >= model_.classes) return;
  const HeldOutRule& rule = log_->config().held_out;
  const uint32_t place = sequence - first_;
  const uint32_t bit = uint32_t{1} << place % kWordBits;
  if (rule.IsHeldOut(sequence)) {
    HeldOutMarks()[place / kWordBits] |= bit;
    ++held_out_;
  } else if (rule.IsForTraining(sequence)) {
    TrainingMarks()[place / kWordBits] |= bit;
    ++training_;
  }
}

SampleSource SampleSnapshot::source() {
  return {training_, ReadTraining, this, nullptr, Begin, End};
}

SampleSource SampleSnapshot::held_out_source() {
  return {held_out_, ReadHeldOut, this, nullptr, HeldOutCount, nullptr};
}

uint32_t SampleSnapshot::Begin(void* context) {
  auto* const self = static_cast<SampleSnapshot*>(context);
  const Status status = self->Take();  // take_status() keeps it
  return status == Status::kOk ? self->training_ : 0;
}

uint32_t SampleSnapshot::HeldOutCount(void* context) {
  return static_cast<const SampleSnapshot*>(context)->held_out_;
}

void SampleSnapshot::End(void* context) { static_cast<SampleSnapshot*>(context)->Release(); }

Status SampleSnapshot::ReadTraining(void* context, uint32_t index, Span<float> features,
                                    uint32_t* label) {
  const auto* const self = static_cast<const SampleSnapshot*>(context);
  if (index >= self->training_) return Status::kWrongState;
  return self->Read(self->TrainingMarks(), index, features, label);
}

Status SampleSnapshot::ReadHeldOut(void* context, uint32_t index, Span<float> features,
                                   uint32_t* label) {
  const auto* const self = static_cast<const SampleSnapshot*>(context);
  if (index >= self->held_out_) return Status::kWrongState;
  return self->Read(self->HeldOutMarks(), index, features, label);
}

// The elements go to the memory of the floats, and become floats from the last one on: none is
// written over an element that is still to be read.
Status SampleSnapshot::Read(Span<const uint32_t> marks, uint32_t index, Span<float> features,
                            uint32_t* label) const {
  const SampleLogConfig& config = log_->config();
  auto* const raw = reinterpret_cast<uint8_t*>(features.data());
  uint32_t found = kUnlabelled;
  const uint32_t sequence = first_ + PlaceOf(marks, index);
  if (log_->Read(sequence, {raw, config.SampleBytes()}, &found) != Status::kOk) {
    return Status::kStoreFailed;
  }
  for (size_t i = features.size(); i-- > 0;) {
    features[i] = ElementAt(raw, config.element, i) * config.scale;
  }
  *label = model_.classes > 0 ? found : 0;
  return Status::kOk;
}

}  // namespace sotto
