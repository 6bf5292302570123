// How many bytes the downloads of a plan have, before it is run. Part of sotto::server/traffic.
//
// Under noise a released model is the noise of the rounds so far, as far as its bytes are
// concerned: border pixels that no sample ever moves cost as much as the others. So the job's own
// estimator and optimiser make models of noise alone, and the codes of their differences are
// counted, for devices that were asked before as the plan's sampling asks them. Without noise the
// steps are as long as the clipping bound allows, which is more than a training makes.
//
// Pure: the noise has a fixed seed.
#pragma once

#include <cstdint>
#include <optional>

#include "downloads/model_codes.h"  // kDownloadPadding
#include "round/job_config.h"
#include "traffic/traffic.h"

namespace sotto::server {

struct PlannedDownload {
  double mean = 0;     // bytes of a download, padding included
  double largest = 0;  // of those that were drawn
  double first = 0;    // mean of a device that takes part in one of these rounds for the first time
};

// A participation as it is planned.
struct PlannedParticipation {
  std::optional<PlannedDownload> download;  // absent: the models are downloaded as float32
  Participation parts;
  Traffic as_float32;  // the whole of it, if model and update were float32
};

//   upload  bytes of the encoded update
PlannedParticipation PlanParticipation(const JobConfig& job, double upload, const LinkShape& link);

// Of the codes of a job with a grid. Throws std::invalid_argument for a job without one. A model so
// large, or under so much noise, that it lies on no grid is downloaded as float32.
//   padding  a code has a multiple of this many bytes; 0: any
PlannedDownload DownloadsOf(const JobConfig& job, uint32_t padding);

}  // namespace sotto::server
