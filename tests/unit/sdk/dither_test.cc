// The cells of the Gau-LRQ dither, against high-precision values and the documented bits.
#include "sotto/dither.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "device/cells.h"
#include "sotto/bytes.h"
#include "unit/csv.h"

namespace sotto {
namespace {

constexpr double kQ27 = 1 << 27;

Key DitherKey(uint8_t number) {
  Key key;
  key.bytes[5] = number;
  return key;
}

std::vector<DitherCell> Cells(const Dither& dither, uint32_t first, uint32_t count) {
  std::vector<DitherCell> cells(count);
  for (uint32_t i = 0; i < count; i += kDitherBatch) {
    const uint32_t size = std::min(kDitherBatch, count - i);
    EXPECT_EQ(GenerateCells(dither, first + i, {cells.data() + i, size}), Status::kOk);
  }
  return cells;
}

bool AreEqual(const DitherCell& a, const DitherCell& b) {
  return a.step_q27 == b.step_q27 && a.left_q27 == b.left_q27 && a.offset_q27 == b.offset_q27 &&
         a.remainder == b.remainder;
}

uint64_t KeystreamWord(const Key& key, uint32_t stream, uint32_t j) {
  uint8_t block[kChaChaBlockSize];
  EXPECT_EQ(ChaCha20Keystream(key, stream, j / 8, block), Status::kOk);
  return LoadU64Le(block + 8 * (j % 8));
}

// layers.csv: computed with 50 digits at all scales, from both ends of the 2^96 layers.
TEST(Layer, EdgesAreTheRealFunctionsRounded) {
  const auto rows = ReadCsv("layers.csv");
  ASSERT_GT(rows.size(), 100u);
  double worst = 0;
  for (const auto& row : rows) {
    const auto high = static_cast<uint32_t>(std::stoull(row[0].substr(0, 8), nullptr, 16));
    const uint64_t low = std::stoull(row[0].substr(8), nullptr, 16);
    const lrq::LayerEdges edges = lrq::LayerFromProbability(high, low);
    worst = std::max(worst, std::fabs(edges.r_q27 - kQ27 * std::stod(row[1])));
    worst = std::max(worst, std::fabs(edges.g_q27 - kQ27 * std::stod(row[2])));
  }
  EXPECT_LE(worst, 0.6);
}

TEST(Layer, StepsStayWithinTheirBounds) {
  int32_t smallest = INT32_MAX;
  int32_t largest = 0;
  const auto visit = [&](uint32_t high, uint64_t low) {
    const lrq::LayerEdges edges = lrq::LayerFromProbability(high, low);
    EXPECT_GE(edges.r_q27, 0);
    EXPECT_GE(edges.g_q27, 0);
    smallest = std::min(smallest, edges.r_q27 + edges.g_q27);
    largest = std::max(largest, edges.r_q27 + edges.g_q27);
  };
  for (uint64_t p = 0; p < (uint64_t{1} << 32); p += 4099) {
    visit(static_cast<uint32_t>(p), uint64_t{1} << 63);
  }
  // The smallest step belongs to r = g, near p = 0.30; the largest to the last layer.
  for (uint32_t p = 0; p < 200000; ++p) visit(0x4b000000u + 64 * p, uint64_t{1} << 63);
  visit(0, 0);
  visit(UINT32_MAX, UINT64_MAX);
  EXPECT_GE(smallest, kMinStepQ27);
  EXPECT_LE(smallest, kMinStepQ27 + 4);
  EXPECT_LE(largest, kMaxStepQ27);
  EXPECT_GE(largest, kMaxStepQ27 - 4);
}

void ExpectOnPage(const char* page, const char* format, double value) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + page);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  char words[64];
  std::snprintf(words, sizeof words, format, value);
  EXPECT_NE(text.find(words), std::string::npos) << page << ": " << words;
}

// The key gives the layer away, and with it the middle of the noise's interval, not the rest.
TEST(Layer, TheKeyLeavesTheVarianceThatThePageStates) {
  constexpr uint32_t kLayers = 1 << 16;
  double stays = 0;
  double told = 0;
  for (uint32_t i = 0; i < kLayers; ++i) {
    const lrq::LayerEdges edges = lrq::LayerFromProbability((i << 16) + (1 << 15), 0);
    const double r = edges.r_q27 / kQ27;
    const double g = edges.g_q27 / kQ27;
    stays += (r + g) * (r + g) / 12 / kLayers;
    told += (r - g) * (r - g) / 4 / kLayers;
  }
  // The layers at the ends, where r and g have no bound, cost a part of about 1 / kLayers.
  EXPECT_NEAR(stays, 0.5358171, 3e-5);
  EXPECT_NEAR(stays + told, 1, 6e-5);
  ExpectOnPage("/sdk/LRQ.md", "%.4f", kMinStepQ27 / kQ27);
  ExpectOnPage("/sdk/LRQ.md", "%.4f", stays);
  ExpectOnPage("/sdk/LRQ.md", "%.4f", told);
  ExpectOnPage("/server/PRIVACY.md", "at least %.2f noise deviations", kMinStepQ27 / kQ27);
  ExpectOnPage("/server/PRIVACY.md", "%.3f of the noise's variance stays", stays);
}

TEST(Dither, AnyBatchCanBeGeneratedAlone) {
  const Dither dither(DitherKey(1), DitherKind::kGaussian);
  const auto all = Cells(dither, 0, 256);
  const auto some = Cells(dither, 112, 20);
  for (size_t i = 0; i < some.size(); ++i) {
    EXPECT_TRUE(AreEqual(some[i], all[112 + i]));
  }
}

// The layout of the keystream words, spelled out once more.
TEST(Dither, ReadsTheDocumentedBits) {
  const Key key = DitherKey(2);
  const auto cells = Cells(Dither(key, DitherKind::kGaussian), 0, 4096);
  int extended = 0;
  for (uint32_t j = 0; j < cells.size(); ++j) {
    const uint64_t word = KeystreamWord(key, 0, j);
    const uint64_t p = word >> 27 & 0xfffffffff;
    const uint64_t top = p >> 28;
    const bool needs_extension = top == 0 || top == 0xff;
    const uint64_t low = needs_extension ? KeystreamWord(key, 1, j) >> 4 : uint64_t{1} << 59;
    extended += needs_extension ? 1 : 0;
    const lrq::LayerEdges edges =
        lrq::LayerFromProbability(static_cast<uint32_t>(p >> 4), (p & 15) << 60 | low);
    EXPECT_EQ(cells[j].step_q27, edges.r_q27 + edges.g_q27);
    EXPECT_EQ(cells[j].left_q27, (word >> 63) != 0 ? -edges.g_q27 : -edges.r_q27);
  }
  EXPECT_GT(extended, 0);
}

TEST(Dither, ExactOffsetIsTheFloorOfTheFullProduct) {
  const Key key = DitherKey(3);
  for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
    const Dither dither(key, kind);
    const auto cells = Cells(dither, 0, 20000);
    int carried = 0;
    for (uint32_t j = 0; j < cells.size(); ++j) {
      const uint64_t t = KeystreamWord(key, 0, j) & 0x7ffffff;
      const uint64_t low = static_cast<uint32_t>(KeystreamWord(key, 2, j));
      const auto step = static_cast<uint64_t>(cells[j].step_q27);
      // step * (t * 2^32 + low) / 2^59 in halves: there are no 128-bit integers on 32-bit CPUs.
      const auto exact = static_cast<int32_t>((step * t + (step * low >> 32)) >> 27);
      int32_t offset = 0;
      ASSERT_EQ(dither.ExactOffset(j, cells[j], &offset), Status::kOk);
      EXPECT_EQ(offset, exact);
      carried += offset != cells[j].offset_q27 ? 1 : 0;
      EXPECT_GE(offset, cells[j].offset_q27);
      EXPECT_LE(offset, cells[j].offset_q27 + Dither::MaxCarry(cells[j]));
    }
    EXPECT_EQ(carried > 0, kind == DitherKind::kGaussian);
  }
}

TEST(Dither, SelectAllGivesWhatSelectGives) {
  constexpr uint32_t kCoordinates = 200000;  // of which some 1,500 have an extended layer
  for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
    const Dither dither(DitherKey(4), kind);
    uint64_t words[kMaxDitherBatch];
    DitherCell cells[kMaxDitherBatch];
    int different = 0;
    for (uint32_t first = 0; first < kCoordinates; first += kMaxDitherBatch) {
      // Batches of every length.
      const uint32_t count = 1 + first / kMaxDitherBatch % kMaxDitherBatch;
      const Span<uint64_t> used(words, count);
      ASSERT_EQ(dither.Generate(first, used), Status::kOk);
      ASSERT_EQ(dither.SelectAll(first, used, {cells, count}), Status::kOk);
      for (uint32_t i = 0; i < count; ++i) {
        DitherCell cell;
        ASSERT_EQ(dither.Select(first + i, words[i], &cell), Status::kOk);
        different += AreEqual(cell, cells[i]) ? 0 : 1;
      }
    }
    EXPECT_EQ(different, 0);
  }
}

// The layers next to where the pieces of the tables meet, and next to the extended ones.
TEST(Dither, SelectAllGivesWhatSelectGivesAtTheEdgesOfThePieces) {
  const Dither dither(DitherKey(5), DitherKind::kGaussian);
  int visited = 0;
  for (uint64_t top = 1; top < 4096; ++top) {  // twelve upper bits, those below all zeros or ones
    for (const uint64_t p : {top << 24, (top << 24) - 1}) {
      const uint64_t words[2] = {p << 27 | 12345, uint64_t{1} << 63 | p << 27 | 0x7ffffff};
      DitherCell cells[2];
      ASSERT_EQ(dither.SelectAll(0, words, cells), Status::kOk);
      for (uint32_t i = 0; i < 2; ++i) {
        DitherCell cell;
        ASSERT_EQ(dither.Select(i, words[i], &cell), Status::kOk);
        EXPECT_TRUE(AreEqual(cell, cells[i])) << words[i];
        ++visited;
      }
    }
  }
  EXPECT_EQ(visited, 4 * 4095);
}

TEST(Dither, RefusesWhatIsNotABatch) {
  const Dither dither(DitherKey(1), DitherKind::kGaussian);
  uint64_t words[kMaxDitherBatch + 1] = {};
  DitherCell cells[kMaxDitherBatch + 1];
  EXPECT_EQ(dither.Generate(1, Span<uint64_t>(words).first(1)), Status::kInvalidArgument);
  EXPECT_EQ(dither.Generate(kDitherBatch / 2, words), Status::kInvalidArgument);
  const Span<const uint64_t> all(words, kMaxDitherBatch + 1);
  EXPECT_EQ(dither.SelectAll(0, all, cells), Status::kInvalidArgument);
  EXPECT_EQ(dither.SelectAll(0, all.first(2), Span<DitherCell>(cells).first(1)),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace sotto
