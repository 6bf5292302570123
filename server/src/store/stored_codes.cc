#include "store/stored_codes.h"

#include <algorithm>
#include <vector>

#include "sotto/model/model_bundle.h"
#include "spec/configuration.h"

namespace sotto::server {

std::shared_ptr<ModelCodes> ReadCodes(Store& store, const JobEntry& job) {
  const std::vector<uint8_t> bundle = store.ReadDescription(job.number);
  auto codes =
      std::make_shared<ModelCodes>(posix::ParseBundle({bundle.data(), bundle.size()}),
                                   WeightsKeyFromConfiguration(store.name(), job.configuration));
  const int64_t first = job.released - static_cast<int64_t>(kMostHeldModels);
  for (const int64_t round : store.ListModels(job.number)) {
    if (round < first || round == kFirstModel) continue;
    const std::vector<float> parameters = store.ReadModel(job.number, round).parameters;
    codes->Keep({parameters.data(), parameters.size()});
  }
  return codes;
}

}  // namespace sotto::server
