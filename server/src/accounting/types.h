// The vocabulary of every privacy statement: the unit, the neighbours, the sampling, the trust
// mode.
//
// Adjacency and sensitivity are types so that every printed figure states its meaning. The JSON
// output and the ledger have the same names. A name is never changed once a ledger contains it.
// Pure values, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <string_view>

namespace sotto::privacy {

// Which two fleets count as neighbours. C, the clipping bound, limits one update's L2 norm.
enum class Adjacency {
  kAddRemove,   // one device more or less: the sum moves by at most C
  kReplaceOne,  // one device's data replaced: the sum moves by at most 2C
};

// How a round's cohort is drawn.
enum class Sampling {
  kUniform,  // a cohort of fixed size, without replacement; pairs with kReplaceOne only
  kPoisson,  // each device independently with the same probability; pairs with kAddRemove only
  kNone,  // every device takes part, or the observer knows the cohort; pairs with either adjacency
  // Every device takes part in every round, and the fleet has a fixed size; pairs with kReplaceOne
  // only. Plans say so; accountants know it as kNone.
  kFull,
  // The server chooses by anything but a device's own data, and each device takes part in at most
  // Plan::participations rounds; pairs with kReplaceOne only. Nothing about the choice is secret.
  // Plans say so; accountants know the rounds of one device as kNone.
  kPasses,
};

// In which order a job of kPasses asks devices.
enum class Order {
  kConnected,  // of the devices that are connected, the least used first
  // In a shuffled list that looks at nobody's presence: a device that is away loses its turn.
  // Rounds then end at deadlines, and the divisor is the planned one.
  kFixed,
};

// The data that one unit of the guarantee covers.
enum class Unit {
  kDevice,  // everything that one device holds
  kSample,  // one sample, wherever it lies
};

// The party against which the guarantee does not protect.
enum class TrustMode {
  kTrustedServer,  // the server, which can regenerate the devices' noise
  kPrivateNoise,   // none: each device adds its own noise, with an epsilon against the server
};

// The side on which a figure may err. An accountant that offers both defaults to kUpper.
enum class Bound {
  kUpper,  // at least the true value: a guarantee may use this side only
  kLower,  // at most the true value: for measuring how loose an upper bound is
};

const char* Name(Adjacency adjacency);   // "add-remove", "replace-one"
const char* Name(Sampling sampling);     // "uniform", "poisson", "none", "full", "passes"
const char* Name(Order order);           // "connected", "fixed"
const char* Name(Unit unit);             // "device", "sample"
const char* Name(TrustMode trust_mode);  // "trusted-server", "private-noise"

// The value that has this name. Each throws std::invalid_argument for any other name.
Adjacency AdjacencyByName(std::string_view name);
Sampling SamplingByName(std::string_view name);
Order OrderByName(std::string_view name);
Unit UnitByName(std::string_view name);
TrustMode TrustModeByName(std::string_view name);

// The L2 sensitivity of the sum of clipped updates, in units of the clipping bound: 1 or 2.
double SensitivityFactor(Adjacency adjacency);

// The sampling of the rounds that an accountant composes: kNone for kFull and kPasses, otherwise
// the same.
Sampling Accounted(Sampling sampling);

// The adjacency under which this library accounts the sampling: kAddRemove for kPoisson,
// kReplaceOne for all others.
Adjacency PairedAdjacency(Sampling sampling);

}  // namespace sotto::privacy
