#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn {

void FillFrameTables(const FrameSettings& settings, Span<float> tables) {
  internal::WriteFrameTables(settings, tables.data());
}

void FillDctTables(const DctSettings& settings, Span<float> tables) {
  internal::WriteDctTables(settings, tables.data());
}

}  // namespace sotto::nn
