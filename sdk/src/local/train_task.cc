#include "sotto/train_task.h"

#include "base/exact_arithmetic.h"

namespace sotto {

Status TrainTask::Validate() const {
  if (Status s = training.Validate(); s != Status::kOk) return s;
  if (!format.CanCarry(clip_bit_q20, accuracy_q20, private_noise_q20)) return Status::kMalformed;
  if (format.coding == Coding::kFloat32) return Status::kOk;
  const float most = private_noise_q20 == 0 ? kMaxClipInScales : kMaxPrivateClipInScales;
  const bool fits = IsPositiveNormal(quantizer_scale) && training.clip_l2 <= most * quantizer_scale;
  return fits ? Status::kOk : Status::kMalformed;
}

}  // namespace sotto
