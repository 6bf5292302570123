#include "spec/small_delta.h"

#include <fmt/format.h>
#include <stdexcept>

#include "accounting/figures.h"
#include "base/counted.h"
#include "plans/plan.h"

namespace sotto::server {

std::string DeltaNote(double delta, int64_t devices, bool or_more) {
  const double left_out = delta * static_cast<double>(devices);
  if (!(left_out > privacy::kMostDevicesLeftOut)) return "";
  return fmt::format(
      "at delta {} the guarantee may leave out {:.2g}{} of {}: to publish the data of each with "
      "the chance {} keeps it, at any epsilon; a job takes {} by default",
      privacy::DeltaText(delta), left_out, or_more ? " or more" : "", Counted(devices, "device"),
      privacy::DeltaText(delta), privacy::DeltaText(privacy::DefaultDelta(devices)));
}

std::string DeltaNote(const JobRequest& request, const JobConfig& job) {
  if (!request.delta || !job.codec->noise) return "";
  return DeltaNote(*request.delta, job.plan.devices);
}

void RequireSmallDelta(const JobRequest& request, const JobConfig& job, bool is_accepted) {
  const std::string note = DeltaNote(request, job);
  if (note.empty() || is_accepted) return;
  throw std::invalid_argument(
      fmt::format("--delta: {}; name a smaller one, or confirm this one by --accept-delta", note));
}

}  // namespace sotto::server
