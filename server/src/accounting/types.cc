#include "accounting/types.h"

#include "base/names.h"

namespace sotto::privacy {
namespace {

constexpr Named<Adjacency> kAdjacencies[] = {
    {Adjacency::kAddRemove, "add-remove"},
    {Adjacency::kReplaceOne, "replace-one"},
};

constexpr Named<Sampling> kSamplings[] = {
    {Sampling::kUniform, "uniform"}, {Sampling::kPoisson, "poisson"}, {Sampling::kNone, "none"},
    {Sampling::kFull, "full"},       {Sampling::kPasses, "passes"},
};

constexpr Named<Order> kOrders[] = {{Order::kConnected, "connected"}, {Order::kFixed, "fixed"}};

constexpr Named<Unit> kUnits[] = {{Unit::kDevice, "device"}, {Unit::kSample, "sample"}};

constexpr Named<TrustMode> kTrustModes[] = {
    {TrustMode::kTrustedServer, "trusted-server"},
    {TrustMode::kPrivateNoise, "private-noise"},
};

}  // namespace

const char* Name(Adjacency adjacency) { return NameIn(kAdjacencies, adjacency); }
const char* Name(Sampling sampling) { return NameIn(kSamplings, sampling); }
const char* Name(Order order) { return NameIn(kOrders, order); }
const char* Name(Unit unit) { return NameIn(kUnits, unit); }
const char* Name(TrustMode trust_mode) { return NameIn(kTrustModes, trust_mode); }

Adjacency AdjacencyByName(std::string_view name) {
  return ValueIn(kAdjacencies, "adjacency", name);
}
Sampling SamplingByName(std::string_view name) { return ValueIn(kSamplings, "sampling", name); }
Order OrderByName(std::string_view name) { return ValueIn(kOrders, "order", name); }
Unit UnitByName(std::string_view name) { return ValueIn(kUnits, "unit", name); }
TrustMode TrustModeByName(std::string_view name) {
  return ValueIn(kTrustModes, "trust mode", name);
}

double SensitivityFactor(Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? 1.0 : 2.0;
}

Sampling Accounted(Sampling sampling) {
  const bool is_known = sampling == Sampling::kFull || sampling == Sampling::kPasses;
  return is_known ? Sampling::kNone : sampling;
}

Adjacency PairedAdjacency(Sampling sampling) {
  return sampling == Sampling::kPoisson ? Adjacency::kAddRemove : Adjacency::kReplaceOne;
}

}  // namespace sotto::privacy
