// The golden values: results that every CPU must reproduce to the last bit.
//
// Edge cases are listed one by one, so that a difference is named; whole ranges are compared by
// their SHA-256. `golden --print` on the host computes the values anew (regenerate.sh); `golden`
// compares, on the host, under QEMU or on a board: no heap, no files.
#pragma once

#include "sotto/dither.h"

namespace sotto::golden {

// The layer of one probability.
struct LayerRow {
  uint32_t p_high;
  uint64_t p_low;
  int32_t r_q27;
  int32_t g_q27;
};

// The cell of coordinate j under TestKey(kEdgeKey), with its exact offset.
struct CellRow {
  uint32_t j;
  int32_t step_q27;
  int32_t left_q27;
  int32_t offset_q27;
};

// A value quantized in coordinate j under TestKey(kEdgeKey), and what its integer decodes to.
struct ValueRow {
  uint32_t j;
  int32_t v_q20;
  int32_t m;
  int32_t noisy_q20;
};

struct DigestRow {
  const char* name;
  uint8_t sha256[kSha256Size];
};

constexpr uint8_t kEdgeKey = 1;
Key TestKey(uint8_t number);

// Each computes the results of a row from its inputs, the members before. The result is unspecified
// unless kOk is returned.
Status Recompute(LayerRow* row);
Status Recompute(CellRow* row);
Status Recompute(ValueRow* row);

// What is compared by digest.
struct DigestItem {
  const char* name;
  Status (*compute)(uint8_t (&digest)[kSha256Size]);
};
Span<const DigestItem> DigestItems();     // check.cc
Span<const DigestItem> NetDigestItems();  // net_digests.cc

// Compares everything with golden_values.inc, up to the first difference, which it names.
//   print  writes a zero-terminated text
// Returns true if all agree.
bool Check(void (*print)(const char* text));

}  // namespace sotto::golden
