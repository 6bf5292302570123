// Adds a researcher's own methods, by name, to the tables of Sotto, and runs a program that has
// them. Part of sotto::lab. examples/research is a complete program.
//
//   int main(int argc, char** argv) {
//     AddOptimiser({"lion", MakeLion, "BETA"});
//     return RunWithOwnMethods(argc, argv);
//   }
//
// An added method is a row like any other: --help lists it, options, TOML files and experiments
// name it, results and states record it. A name that is there already is refused.
//
// Call the Add functions first of all, on one thread, before RunWithOwnMethods(). They throw
// std::invalid_argument for a name that is taken or is no name, and std::logic_error for more than
// 32 methods of a kind. Names and texts must live as long as the program: literals do.
#pragma once

#include <memory>
#include <string>

#include "sotto/data/deal.h"
#include "sotto/research/aggregation_options.h"
#include "sotto/research/codec.h"
#include "sotto/research/estimator.h"
#include "sotto/research/optimiser.h"

namespace sotto::server {

// --estimator NAME. Costs no privacy.
struct OwnEstimator {
  const char* name;
  // Called once for each job, and for checks. Throws std::invalid_argument for options out of
  // range.
  std::unique_ptr<const Estimator> (*make)(const AggregationOptions& options);
  // What the option may be besides NAME: NAME:VALUE, which options.estimator then has. Null: no
  // more.
  const char* value = nullptr;
};
void AddEstimator(const OwnEstimator& own);

// --server-optimiser NAME. Costs no privacy.
struct OwnOptimiser {
  const char* name;
  std::unique_ptr<Optimiser> (*make)(const AggregationOptions& options);
  const char* value = nullptr;  // as above; options.server_optimiser has it
};
void AddOptimiser(const OwnOptimiser& own);

// --mechanism NAME, in simulations only: no device and no `serve` has the codec. Its privacy claims
// follow from OwnCodec::noise, see codec.h.
void AddCodec(const OwnCodec& own);

// AddPartition(), --partition NAME: deal.h. Who holds what is not part of any claim.

// The number VALUE of a text NAME:VALUE, or `absent` of NAME alone. Throws std::invalid_argument
// that names the option for anything else, and for a number out of [least, most].
double OwnNumber(const char* option, const std::string& text, double absent, double least,
                 double most);

// Runs a program with the commands of `sotto` and, but for its `inspect`, of `sotto-lab`, as the
// command line says; argv[0] names the program. Returns its exit status.
int RunWithOwnMethods(int argc, char** argv);

}  // namespace sotto::server
