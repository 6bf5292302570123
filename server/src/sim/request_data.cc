#include "sim/request_data.h"

#include "data/catalog.h"
#include "data/parts.h"

namespace sotto::server {

TrainTest OpenDataOf(const SimulationRequest& request) {
  TrainTest data = OpenForFleet(request.data, request.test.value_or(""), request.job.model,
                                uint64_t{request.fleet.devices} * request.fleet.samples_per_device);
  if (request.classes) data = OnlyClasses(data, *request.classes);
  return data;
}

}  // namespace sotto::server
