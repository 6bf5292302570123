// readings [--machines FIRST-LAST] [--seconds N] [--severity S] [--labels] [--stream]
//
// Prints what the sensors of the example's motors read, as CSV: machine,x,y,z in g, a line each
// millisecond. --severity: how far the bearings are worn, 0 to 1. --labels adds a column `worn`, 1
// if the severity is above 0. --stream prints lines "x y z" of one machine, without a head, as a
// sensor's program does. Part of examples/vibration.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "motor.h"

namespace {

struct Options {
  unsigned first = 0;
  unsigned last = 0;
  unsigned seconds = 1;
  float severity = 0.0f;
  bool labels = false;
  bool stream = false;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (std::strcmp(argv[i], "--labels") == 0) {
      options->labels = true;
    } else if (std::strcmp(argv[i], "--stream") == 0) {
      options->stream = true;
    } else if (std::strcmp(argv[i], "--machines") == 0) {
      const int count = std::sscanf(value, "%u-%u", &options->first, &options->last);
      if (count < 1) return false;
      if (count < 2) options->last = options->first;
      ++i;
    } else if (std::strcmp(argv[i], "--seconds") == 0) {
      if (std::sscanf(value, "%u", &options->seconds) != 1) return false;
      ++i;
    } else if (std::strcmp(argv[i], "--severity") == 0) {
      if (std::sscanf(value, "%f", &options->severity) != 1) return false;
      ++i;
    } else {
      return false;
    }
  }
  return options->first <= options->last;
}

void PrintMachine(unsigned machine, const Options& options) {
  vibration::Motor motor(machine);
  motor.Wear(options.severity);
  for (unsigned t = 0; t < options.seconds * vibration::kRate; ++t) {
    const vibration::Reading reading = motor.Read();
    const float* const g = reading.g;
    if (options.stream) {
      std::printf("%.4f %.4f %.4f\n", g[0], g[1], g[2]);
    } else if (options.labels) {
      std::printf("%u,%.4f,%.4f,%.4f,%d\n", machine, g[0], g[1], g[2],
                  options.severity > 0 ? 1 : 0);
    } else {
      std::printf("%u,%.4f,%.4f,%.4f\n", machine, g[0], g[1], g[2]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: %s [--machines FIRST-LAST] [--seconds N] [--severity S] [--labels] "
                 "[--stream]\n",
                 argv[0]);
    return 2;
  }
  if (!options.stream) std::printf(options.labels ? "machine,x,y,z,worn\n" : "machine,x,y,z\n");
  for (unsigned machine = options.first; machine <= options.last; ++machine) {
    PrintMachine(machine, options);
  }
  return 0;
}
