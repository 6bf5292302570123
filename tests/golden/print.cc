#include "golden/print.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <vector>

#include "device/cells.h"
#include "golden/check.h"
#include "sotto/quantizer.h"

namespace sotto::golden {
namespace {

// The chosen coordinates are extremes among this many.
constexpr uint32_t kSearched = 1 << 18;
constexpr size_t kOfEachKind = 4;

struct Candidate {
  uint32_t j;
  DitherCell cell;
  int32_t exact_offset;
};

bool Succeeded(Status status, const char* what) {
  if (status != Status::kOk) std::fprintf(stderr, "golden: %s: %s\n", what, StatusName(status));
  return status == Status::kOk;
}

// Both ends of each of the 96 bits of p, where clz-indexed tables change piece, and what lies
// between; layers whose top eight bits are all equal are extended to all 96.
std::vector<LayerRow> ChooseLayers() {
  std::vector<LayerRow> rows;
  const auto add = [&](uint32_t high, uint64_t low) {
    rows.push_back({high, low, 0, 0});
    rows.push_back({~high, ~low, 0, 0});
  };
  add(0, 0);
  for (int bit = 0; bit < 64; ++bit) add(0, uint64_t{1} << bit);
  for (int bit = 0; bit < 32; ++bit) {
    add(uint32_t{1} << bit, 0);
    add((uint32_t{1} << bit) - 1, UINT64_MAX);
  }
  for (uint32_t top = 1; top < 128; top += 6) add(top << 24 | 0x5a5a5a, uint64_t{1} << 63);
  return rows;
}

std::vector<Candidate> Search() {
  const Dither dither(TestKey(kEdgeKey), DitherKind::kGaussian);
  std::vector<Candidate> candidates;
  for (uint32_t first = 0; first < kSearched; first += kDitherBatch) {
    DitherCell cells[kDitherBatch];
    if (!Succeeded(GenerateCells(dither, first, cells), "cells")) return {};
    for (uint32_t i = 0; i < kDitherBatch; ++i) {
      Candidate candidate{first + i, cells[i], 0};
      if (!Succeeded(dither.ExactOffset(candidate.j, cells[i], &candidate.exact_offset), "offset"))
        return {};
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

// The coordinates with the smallest and the largest of some property.
void AddExtremes(std::vector<Candidate> candidates,
                 const std::function<double(const Candidate&)>& of, std::set<uint32_t>* chosen) {
  std::sort(candidates.begin(), candidates.end(),
            [&](const Candidate& a, const Candidate& b) { return of(a) < of(b); });
  for (size_t i = 0; i < kOfEachKind; ++i) {
    chosen->insert(candidates[i].j);
    chosen->insert(candidates[candidates.size() - 1 - i].j);
  }
}

void AddFirst(const std::vector<Candidate>& candidates,
              const std::function<bool(const Candidate&)>& fits, std::set<uint32_t>* chosen) {
  size_t found = 0;
  for (const Candidate& candidate : candidates) {
    if (found == kOfEachKind) return;
    if (!fits(candidate)) continue;
    chosen->insert(candidate.j);
    ++found;
  }
}

std::set<uint32_t> ChooseCoordinates(const std::vector<Candidate>& candidates) {
  std::set<uint32_t> chosen = {0, kDitherBatch - 1, kDitherBatch, kSearched - 1};
  const auto step = [](const Candidate& c) { return static_cast<double>(c.cell.step_q27); };
  const auto dither = [](const Candidate& c) {
    return static_cast<double>(c.cell.offset_q27) / c.cell.step_q27;
  };
  const auto left = [](const Candidate& c) {
    return static_cast<double>(c.cell.left_q27) / c.cell.step_q27;
  };
  AddExtremes(candidates, step, &chosen);
  AddExtremes(candidates, dither, &chosen);
  AddExtremes(candidates, left, &chosen);
  const auto is_open = [](const Candidate& c) { return Dither::MaxCarry(c.cell) > 0; };
  const auto carries = [](const Candidate& c) { return c.exact_offset != c.cell.offset_q27; };
  AddFirst(candidates, carries, &chosen);
  AddFirst(
      candidates, [&](const auto& c) { return is_open(c) && !carries(c); }, &chosen);
  AddFirst(
      candidates, [&](const auto& c) { return !is_open(c); }, &chosen);
  return chosen;
}

// The largest v in [0, limit] that has the same integer as 0.
int32_t LargestInCellOfZero(uint32_t j) {
  ValueRow zero{j, 0, 0, 0};
  if (!Succeeded(Recompute(&zero), "value")) return 0;
  int32_t inside = 0;
  int32_t outside = kMaxValueQ20;
  while (outside - inside > 1) {
    const int32_t middle = inside + (outside - inside) / 2;
    ValueRow row{j, middle, 0, 0};
    if (!Succeeded(Recompute(&row), "value")) return 0;
    (row.m == zero.m ? inside : outside) = middle;
  }
  return inside;
}

// A v that lies on a lattice point s + k w if the offset is the smaller of its two candidates, so
// that the exact offset decides: v * 2^7 = s + k w. Returns false if no small k gives one.
bool ValueOnLattice(const Candidate& candidate, int32_t* v) {
  for (int64_t k = -64; k < 64; ++k) {
    const int64_t point = candidate.cell.offset_q27 + k * candidate.cell.step_q27;
    if (point % 128 != 0) continue;
    *v = static_cast<int32_t>(point / 128);
    return true;
  }
  return false;
}

std::vector<ValueRow> ChooseValues(const std::vector<Candidate>& candidates,
                                   const std::set<uint32_t>& chosen) {
  std::vector<ValueRow> rows;
  for (const uint32_t j : chosen) {
    const int32_t edge = LargestInCellOfZero(j);
    for (const int32_t v : {0, -1, edge, edge + 1, kMaxValueQ20, -kMaxValueQ20}) {
      rows.push_back({j, v, 0, 0});
    }
    int32_t v = 0;
    if (!ValueOnLattice(candidates[j], &v)) continue;
    rows.push_back({j, v - 1, 0, 0});
    rows.push_back({j, v, 0, 0});
  }
  return rows;
}

// Computes the results of all rows and prints them as the elements of an array.
template <class Row, class PrintRow>
bool PrintRows(const char* declaration, std::vector<Row> rows, const PrintRow& print_row) {
  std::printf("\nconstexpr %s[] = {\n", declaration);
  for (Row& row : rows) {
    if (!Succeeded(Recompute(&row), declaration)) return false;
    print_row(row);
  }
  std::printf("};\n");
  return true;
}

bool PrintDigests(Span<const DigestItem> items) {
  for (const DigestItem& item : items) {
    uint8_t digest[kSha256Size] = {};
    if (!Succeeded(item.compute(digest), item.name)) return false;
    std::printf("    {\"%s\",\n     {", item.name);
    for (size_t i = 0; i < kSha256Size; ++i) {
      std::printf("0x%02x%s", digest[i],
                  i + 1 == kSha256Size ? "}},\n"
                  : i == 15            ? ",\n      "
                                       : ", ");
    }
  }
  return true;
}

bool PrintAllDigests() {
  std::printf("\nconstexpr DigestRow kDigests[] = {\n");
  if (!PrintDigests(DigestItems()) || !PrintDigests(NetDigestItems())) return false;
  std::printf("};\n");
  return true;
}

}  // namespace

bool Print() {
  const std::vector<Candidate> candidates = Search();
  if (candidates.empty()) return false;
  const std::set<uint32_t> chosen = ChooseCoordinates(candidates);
  std::vector<CellRow> cells;
  for (const uint32_t j : chosen) cells.push_back({j, 0, 0, 0});

  std::printf("// Written by regenerate.sh; do not edit.\n");
  return PrintRows("LayerRow kLayers", ChooseLayers(),
                   [](const LayerRow& row) {
                     std::printf("    {0x%08x, 0x%016llx, %d, %d},\n", row.p_high,
                                 static_cast<unsigned long long>(row.p_low), row.r_q27, row.g_q27);
                   }) &&
         PrintRows("CellRow kCells", cells,
                   [](const CellRow& row) {
                     std::printf("    {%u, %d, %d, %d},\n", row.j, row.step_q27, row.left_q27,
                                 row.offset_q27);
                   }) &&
         PrintRows("ValueRow kValues", ChooseValues(candidates, chosen),
                   [](const ValueRow& row) {
                     std::printf("    {%u, %d, %d, %d},\n", row.j, row.v_q20, row.m, row.noisy_q20);
                   }) &&
         PrintAllDigests();
}

}  // namespace sotto::golden
