#include "golden/check.h"

#include "device/cells.h"
#include "golden/digests.h"
#include "sotto/bytes.h"
#include "sotto/conformance/line.h"
#include "sotto/quantizer.h"

namespace sotto::golden {
namespace {

using conformance::Hex;
using conformance::Line;

#include "golden/golden_values.inc"

constexpr DigestItem kItems[] = {
    {"keys", DerivedKeys},
    {"first cells", FirstCells},
    {"uniform cells", UniformCells},
    {"update scales", UpdateScales},
    {"updates, fixed-length code", FixedUpdates},
    {"updates, range code", RangeUpdates},
    {"exp and log", ExpAndLog},
    {"permutations", Permutations},
    {"trained, clipped at every step", TrainedEveryStep},
    {"trained, clipped at the end", TrainedAtEnd},
    {"fixed-point exp and log", FixedExpAndLog},
    {"trained in fixed point, clipped at every step", FixedTrainedEveryStep},
    {"trained in fixed point, clipped at the end", FixedTrainedAtEnd},
    {"peers, average", PeersAverage},
    {"peers, accumulate", PeersAccumulate},
    {"peers, unit device", PeersDevice},
    {"all cells", AllCells},
};

bool operator==(const LayerRow& a, const LayerRow& b) {
  return a.r_q27 == b.r_q27 && a.g_q27 == b.g_q27;
}
bool operator==(const CellRow& a, const CellRow& b) {
  return a.step_q27 == b.step_q27 && a.left_q27 == b.left_q27 && a.offset_q27 == b.offset_q27;
}
bool operator==(const ValueRow& a, const ValueRow& b) {
  return a.m == b.m && a.noisy_q20 == b.noisy_q20;
}

void Describe(const LayerRow& row, Line* line) {
  *line << "layer p=" << Hex{row.p_high, 8} << Hex{row.p_low, 16} << ": r=" << row.r_q27
        << " g=" << row.g_q27;
}
void Describe(const CellRow& row, Line* line) {
  *line << "cell j=" << row.j << ": w=" << row.step_q27 << " L=" << row.left_q27
        << " s=" << row.offset_q27;
}
void Describe(const ValueRow& row, Line* line) {
  *line << "value j=" << row.j << " v=" << row.v_q20 << ": m=" << row.m << " e=" << row.noisy_q20;
}
void Describe(const DigestRow& row, Line* line) {
  *line << "digest " << row.name << ": ";
  for (const uint8_t byte : row.sha256) *line << Hex{byte, 2};
}

template <class Row>
void PrintDifference(const Row& actual, const Row& golden, Status status,
                     void (*print)(const char*)) {
  Line line;
  line << "golden: ";
  Describe(golden, &line);
  line << ", but here\n        ";
  Describe(actual, &line);
  line << " (" << StatusName(status) << ")\n";
  print(line.text());
}

template <class Row>
bool CheckRows(Span<const Row> rows, void (*print)(const char*)) {
  for (const Row& golden : rows) {
    Row actual = golden;
    const Status status = Recompute(&actual);
    if (status != Status::kOk || !(actual == golden)) {
      PrintDifference(actual, golden, status, print);
      return false;
    }
  }
  return true;
}

// The cell of one coordinate, by itself.
Status CellAt(const Dither& dither, uint32_t j, DitherCell* cell) {
  DitherCell cells[kDitherBatch];
  const uint32_t place = j % kDitherBatch;
  const Status status = GenerateCells(dither, j - place, cells);
  *cell = cells[place];
  return status;
}

bool CheckDigest(const DigestItem& item, void (*print)(const char*)) {
  DigestRow golden{item.name, {}};
  for (const DigestRow& row : kDigests) {
    if (__builtin_strcmp(row.name, item.name) == 0) golden = row;
  }
  DigestRow actual{item.name, {}};
  const Status status = item.compute(actual.sha256);
  if (status == Status::kOk && ConstantTimeEqual(actual.sha256, golden.sha256)) return true;
  PrintDifference(actual, golden, status, print);
  return false;
}

bool CheckDigests(Span<const DigestItem> items, void (*print)(const char*)) {
  for (const DigestItem& item : items) {
    if (!CheckDigest(item, print)) return false;
  }
  return true;
}

}  // namespace

Key TestKey(uint8_t number) {
  Key key;
  for (size_t i = 0; i < kKeySize; ++i) key.bytes[i] = static_cast<uint8_t>(7 * i + number);
  return key;
}

Span<const DigestItem> DigestItems() { return kItems; }

Status Recompute(LayerRow* row) {
  const lrq::LayerEdges edges = lrq::LayerFromProbability(row->p_high, row->p_low);
  row->r_q27 = edges.r_q27;
  row->g_q27 = edges.g_q27;
  return Status::kOk;
}

Status Recompute(CellRow* row) {
  const Dither dither(TestKey(kEdgeKey), DitherKind::kGaussian);
  DitherCell cell{};
  if (Status s = CellAt(dither, row->j, &cell); s != Status::kOk) return s;
  row->step_q27 = cell.step_q27;
  row->left_q27 = cell.left_q27;
  return dither.ExactOffset(row->j, cell, &row->offset_q27);
}

Status Recompute(ValueRow* row) {
  const Dither dither(TestKey(kEdgeKey), DitherKind::kGaussian);
  DitherCell cell{};
  if (Status s = CellAt(dither, row->j, &cell); s != Status::kOk) return s;
  if (Status s = Quantize(dither, row->j, cell, row->v_q20, &row->m); s != Status::kOk) return s;
  return Dequantize(dither, row->j, cell, row->m, &row->noisy_q20);
}

bool Check(void (*print)(const char*)) {
  if (!CheckRows<LayerRow>(kLayers, print)) return false;
  if (!CheckRows<CellRow>(kCells, print)) return false;
  if (!CheckRows<ValueRow>(kValues, print)) return false;
  if (!CheckDigests(DigestItems(), print) || !CheckDigests(NetDigestItems(), print)) return false;
  Line line;
  line << "golden: " << Span<const LayerRow>(kLayers).size() << " layers, "
       << Span<const CellRow>(kCells).size() << " cells, " << Span<const ValueRow>(kValues).size()
       << " values and " << DigestItems().size() + NetDigestItems().size() << " digests agree\n";
  print(line.text());
  return true;
}

}  // namespace sotto::golden
