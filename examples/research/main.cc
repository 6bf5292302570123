// Sotto with four own methods. This is the whole program: the methods are in the files beside it.
#include <cstdio>
#include <exception>

#include "methods.h"
#include "sotto/research/methods.h"

int main(int argc, char** argv) {
  using namespace sotto::server;
  try {
    AddEstimator({"trimmed", MakeTrimmed, "SHARE"});
    AddOptimiser({"lion", MakeLion, "BETA"});
    AddCodec({"sign", "one bit a coordinate, without noise", std::nullopt, MakeSign});
    AddCodec({"sixteen-bits", "Gaussian noise, then 16 bits a coordinate", GaussianNoise{1, 1},
              MakeSixteenBits});
    sotto::AddPartition(
        {"ladder", "device i gets i + 1 parts of all samples, in random order", DealLadder});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
  return RunWithOwnMethods(argc, argv);
}
