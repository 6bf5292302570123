// Samples and model of a training without a server. Part of sotto::server/sim.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>

#include "sim/peer_request.h"
#include "sotto/data/dataset.h"
#include "sotto/model/model_file.h"

namespace sotto::server {

// Samples as their principal components.
class PrincipalRows : public StoredDataset {
 public:
  using StoredDataset::StoredDataset;
};

// The samples that a request names.
// - With principal components, which are fitted on the training samples, each row is a sample's
//   components scaled to the norm feature_norm; a row of zeros stays.
// - Else, with unit sample, a test row of a norm above feature_norm is scaled down to it, as a node
//   does with its own samples. A model that prepares samples does it itself.
// Throws as OpenForFleet(), OnlyClasses() and FitPrincipalComponents() do.
TrainTest OpenPeerData(const PeersRequest& request);

// All of a request that decides the samples, as a text: requests of equal texts open the same.
std::string PeerDataKey(const PeersRequest& request);

// The number of components that OpenPeerData() takes for this many features; 0: none.
uint32_t PcaOf(const PeersRequest& request, size_t features);

// The model that the request names. If it names none: one Dense layer for samples of `info` as
// OpenPeerData() gives them, one-vs-all for classes, a single output for two of them, squared error
// for targets. Throws std::invalid_argument for samples with neither.
posix::SharedModel PeerModel(const PeersRequest& request, const SampleInfo& info);

}  // namespace sotto::server
