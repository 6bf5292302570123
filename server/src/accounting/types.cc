#include "accounting/types.h"

#include <stdexcept>
#include <string>

namespace sotto::privacy {

const char* Name(Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? "add-remove" : "replace-one";
}

const char* Name(Sampling sampling) {
  switch (sampling) {
    case Sampling::kUniform:
      return "uniform";
    case Sampling::kPoisson:
      return "poisson";
    case Sampling::kNone:
      break;
  }
  return "none";
}

const char* Name(Unit /*unit*/) { return "device"; }

const char* Name(TrustMode trust_mode) {
  return trust_mode == TrustMode::kPrivateNoise ? "private-noise" : "trusted-server";
}

double SensitivityFactor(Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? 1.0 : 2.0;
}

Adjacency PairedAdjacency(Sampling sampling) {
  return sampling == Sampling::kPoisson ? Adjacency::kAddRemove : Adjacency::kReplaceOne;
}

void RequirePairing(Sampling sampling, Adjacency adjacency) {
  if (sampling == Sampling::kNone || adjacency == PairedAdjacency(sampling)) return;
  throw std::invalid_argument(std::string("adjacency is ") + Name(adjacency) + " with sampling " +
                              Name(sampling) + "; it must be " + Name(PairedAdjacency(sampling)));
}

}  // namespace sotto::privacy
