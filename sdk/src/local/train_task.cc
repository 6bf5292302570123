#include "sotto/train_task.h"

#include "base/exact_arithmetic.h"

namespace sotto {

uint32_t ErrorEdges::BinOf(float error) const {
  uint32_t bin = 0;
  while (bin < count() && !(error <= (*this)[bin])) ++bin;
  return bin;
}

bool ErrorEdges::IsValid() const {
  if (bytes_.size() % sizeof(float) != 0 || count() > kMaxErrorEdges) return false;
  for (uint32_t i = 0; i < count(); ++i) {
    if (!IsFinite((*this)[i]) || (i > 0 && (*this)[i] <= (*this)[i - 1])) return false;
  }
  return true;
}

Status TrainTask::Validate() const {
  if (!error_edges.IsValid() || (error_edges.count() > 0 && accuracy_q20 != 0)) {
    return Status::kMalformed;
  }
  if (Status s = training.Validate(); s != Status::kOk) return s;
  if (!format.CanCarry(clip_bit_q20, accuracy_q20, private_noise_q20)) return Status::kMalformed;
  if (format.coding == Coding::kFloat32) return Status::kOk;
  const float most = private_noise_q20 == 0 ? kMaxClipInScales : kMaxPrivateClipInScales;
  const bool fits = IsPositiveNormal(quantizer_scale) && training.clip_l2 <= most * quantizer_scale;
  return fits ? Status::kOk : Status::kMalformed;
}

}  // namespace sotto
