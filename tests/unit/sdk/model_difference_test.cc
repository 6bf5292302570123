// A model as a difference: the code, its reader in parts of any size, and what they refuse.
#include "sotto/model_difference.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "unit/trials.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;

Span<const float> View(const Floats& v) { return {v.data(), v.size()}; }
ByteSpan View(const Bytes& v) { return {v.data(), v.size()}; }

// In long double, which holds each float32 times 2^20 plus a half.
int32_t SlowUnits(float value, int exponent) {
  const long double units =
      std::floor(std::ldexp(static_cast<long double>(value), -exponent) + 0.5L);
  const long double most = 1 << 30;
  return static_cast<int32_t>(std::max(-most, std::min(most, units)));
}

// The code as PROTOCOL.md defines it, bit by bit, with whole numbers of 64 bits and no carry logic:
// the decoder alone, on an input that never ends.
class SlowReader {
 public:
  explicit SlowReader(const Bytes& bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) code_ = code_ * 256 + Next();
  }

  int64_t Integer() {
    size_t digits = 0;
    while (digits < 31 && Adaptive(digits)) ++digits;
    int64_t magnitude = digits == 0 ? 0 : 1;
    for (size_t i = 1; i < digits; ++i) magnitude = 2 * magnitude + (Bit(range_ / 2) ? 1 : 0);
    return digits > 0 && Bit(range_ / 2) ? -magnitude : magnitude;
  }

 private:
  struct Place {
    uint64_t p = 1ull << 31;
    uint64_t weight = 8;
  };

  uint64_t Next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }

  bool Bit(uint64_t bound) {
    const bool is_one = code_ < bound;
    range_ = is_one ? bound : range_ - bound;
    code_ = is_one ? code_ : code_ - bound;
    for (; range_ < (1u << 24); range_ *= 256) code_ = code_ * 256 + Next();
    return is_one;
  }

  bool Adaptive(size_t i) {
    Place& place = places_[i];
    const uint64_t p = std::max<uint64_t>(place.p / 65536, 1);
    const bool bit = Bit(range_ / 65536 * p);
    uint64_t power = 1;
    while (2 * power <= place.weight) power *= 2;
    place.p = bit ? place.p + (4294967295u - place.p) / power : place.p - place.p / power;
    if (place.weight < 1024) ++place.weight;
    return bit;
  }

  Bytes bytes_;
  size_t at_ = 0;
  uint64_t range_ = 4294967295u;
  uint64_t code_ = 0;
  std::vector<Place> places_ = std::vector<Place>(31);
};

Floats SlowModel(const Bytes& code, const Floats& held, size_t n, int exponent) {
  SlowReader reader(code);
  Floats model(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t base = held.empty() ? 0 : SlowUnits(held[i], exponent);
    const int64_t d = code.empty() ? 0 : reader.Integer();
    model[i] = static_cast<float>(std::ldexp(static_cast<double>(base + d), exponent));
  }
  return model;
}

Bytes Encode(const Floats& held, const Floats& wanted, int exponent) {
  Bytes out(MaxDifferenceBytes(wanted.size()));
  size_t size = 0;
  EXPECT_EQ(EncodeDifference(View(held), View(wanted), exponent, {out.data(), out.size()}, &size),
            Status::kOk);
  out.resize(size);
  return out;
}

// Fed in parts of `part` bytes; in place if the model is what is held.
Status Decode(const Bytes& code, const Floats& held, int exponent, size_t part, Floats* model) {
  DifferenceReader reader;
  EXPECT_EQ(reader.Begin(exponent, static_cast<uint32_t>(code.size())), Status::kOk);
  const bool in_place = model->size() == held.size();
  if (in_place) *model = held;
  const Span<float> out = {model->data(), model->size()};
  const Span<const float> base = in_place ? Span<const float>(out) : View(held);
  size_t at = 0;
  do {
    const size_t count = std::min(part, code.size() - at);
    EXPECT_EQ(reader.missing(), code.size() - at);
    const Status s = reader.Feed({code.data() + at, count}, base, out);
    if (s != Status::kOk) return s;
    at += count;
  } while (at < code.size());
  EXPECT_EQ(reader.position(), model->size());
  EXPECT_EQ(reader.missing(), 0u);
  return Status::kOk;
}

Floats Normal(size_t n, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, deviation);
  Floats v(n);
  for (float& x : v) x = static_cast<float>(normal(random));
  return v;
}

Floats OnGrid(Floats v, int exponent) {
  for (float& x : v) {
    const int32_t n = std::max(-kMostGridUnits, std::min(kMostGridUnits, SlowUnits(x, exponent)));
    x = static_cast<float>(std::ldexp(n, exponent));
    if (x == 0.0f) x = 0.0f;
  }
  return v;
}

TEST(ModelDifference, NearestUnitsAreThoseOfExactArithmetic) {
  std::mt19937 random(5);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               0.5f,
                               -0.5f,
                               1.5f,
                               -1.5f,
                               2.5f,
                               1e38f,
                               -3e38f,
                               1e-45f,
                               -1e-45f,
                               0x1.fffffep-22f,
                               -0x1.fffffep-22f,
                               0x1p-21f,
                               -0x1p-21f,
                               0x1p30f,
                               -0x1p30f,
                               0x1.fffffep29f,
                               0x1.fffffep9f,
                               -0x1.fffffep9f};
  for (int i = 0; i < 20000; ++i) {
    const float value = FloatFromBits(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
    values.push_back(static_cast<float>(std::ldexp(static_cast<double>(random()) - 2147483648.0,
                                                   -static_cast<int>(random() % 52))));
  }
  for (const float value : values) {
    for (int e = kLeastGridExponent; e <= kMostGridExponent; ++e) {
      ASSERT_EQ(NearestGridUnits(value, e), SlowUnits(value, e)) << value << " " << e;
    }
  }
}

TEST(ModelDifference, GridParametersAreExactAndTheirOwnNearest) {
  std::mt19937 random(6);
  for (int i = 0; i < 20000; ++i) {
    const int e = -static_cast<int>(random() % 21);
    const int32_t n = i < 3 ? (i - 1) * kMostGridUnits
                            : static_cast<int32_t>(random() % (2u << 24)) - kMostGridUnits;
    const float x = GridParameter(n, e);
    ASSERT_EQ(FloatBits(x), FloatBits(static_cast<float>(std::ldexp(n, e)))) << n << " " << e;
    ASSERT_EQ(NearestGridUnits(x, e), n);
  }
}

struct Case {
  Floats held;
  Floats wanted;
  int exponent;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const size_t n : {1, 2, 7, 300}) {
    for (const int e : {-20, -11, -5, 0}) {
      const double step = std::ldexp(1.0, e);
      for (const double spread : {0.1, 2.0, 1000.0, 1e6}) {
        const Floats wanted = OnGrid(Normal(n, spread * step, 11), e);
        cases.push_back({{}, wanted, e});
        cases.push_back({Normal(n, spread * step, 12), wanted, e});
        Floats near = wanted;
        for (size_t i = 0; i < n; i += 3) near[i] += static_cast<float>(0.37 * step);
        cases.push_back({near, wanted, e});
      }
      // Bases at which the nearest units end, and whose differences have all digits.
      Floats huge(n);
      for (size_t i = 0; i < n; ++i) huge[i] = i % 3 == 0 ? 3e38f : i % 3 == 1 ? -3e38f : 1e-42f;
      Floats far(n, static_cast<float>(std::ldexp(-kMostGridUnits, e)));
      cases.push_back({huge, far, e});
      cases.push_back({far, OnGrid(huge, e), e});
      cases.push_back({far, far, e});
    }
  }
  return cases;
}

TEST(ModelDifference, GivesTheWantedModelWhateverThePartsAre) {
  for (const Case& c : Cases()) {
    const Bytes code = Encode(c.held, c.wanted, c.exponent);
    for (const size_t part : {size_t{1}, size_t{3}, size_t{16}, size_t{200}, code.size() + 1}) {
      Floats model(c.wanted.size());
      ASSERT_EQ(Decode(code, c.held, c.exponent, part, &model), Status::kOk);
      ASSERT_EQ(model, c.wanted) << part << " " << c.exponent;
    }
  }
}

TEST(ModelDifference, IsWhatASlowReaderOfTheSpecificationMakesOfIt) {
  for (const Case& c : Cases()) {
    const Bytes code = Encode(c.held, c.wanted, c.exponent);
    EXPECT_EQ(SlowModel(code, c.held, c.wanted.size(), c.exponent), c.wanted);
  }
}

TEST(ModelDifference, FitsIntoItsMostBytes) {
  for (const Case& c : Cases()) {
    EXPECT_LE(Encode(c.held, c.wanted, c.exponent).size(), MaxDifferenceBytes(c.wanted.size()));
  }
}

TEST(ModelDifference, OfEqualModelsHasNoBytes) {
  const Floats wanted = OnGrid(Normal(50, 1.0, 3), -7);
  EXPECT_TRUE(Encode(wanted, wanted, -7).empty());
  Floats off = wanted;
  for (float& x : off) x += 0.003f;  // less than half a step
  EXPECT_TRUE(Encode(off, wanted, -7).empty());
  Floats model(50);
  ASSERT_EQ(Decode({}, off, -7, 1, &model), Status::kOk);
  EXPECT_EQ(model, wanted);
}

// Changed codes, shorter ones and random bytes: all are read as the slow reader reads, or refused.
TEST(ModelDifference, ReadsAnyBytesAsTheSlowReaderDoesOrRefusesThem) {
  std::mt19937 random(9);
  const Floats held = Normal(40, 0.1, 2);
  int refused = 0;
  int accepted = 0;
  const Floats wanted = OnGrid(Normal(40, 0.1, 4), -9);
  const Bytes valid = Encode(held, wanted, -9);
  for (int i = 0; i < 3000; ++i) {
    Bytes code = valid;
    if (i % 3 == 0) code[random() % code.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    if (i % 3 == 1) code.resize(1 + random() % code.size());
    if (i % 3 == 2) {
      code.resize(1 + random() % 60);
      for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    }
    Floats whole(40);
    const Status status = Decode(code, held, -9, code.size(), &whole);
    for (const size_t part : {1, 5}) {
      Floats model(40);
      EXPECT_EQ(Decode(code, held, -9, part, &model), status);
      EXPECT_TRUE(status != Status::kOk || model == whole);
    }
    EXPECT_TRUE(status != Status::kOk || whole == SlowModel(code, held, 40, -9));
    ++(status == Status::kOk ? accepted : refused);
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted, 300);
}

TEST(ModelDifference, TakesZerosBehindItsCodeAndNothingElse) {
  const Floats wanted = OnGrid(Normal(100, 0.1, 4), -9);
  const Bytes code = Encode({}, wanted, -9);
  for (const size_t more : {1, 4, 100, 512}) {
    Bytes padded = code;
    padded.resize(code.size() + more);
    for (const size_t part : {size_t{1}, size_t{100}, padded.size()}) {
      Floats model(100);
      EXPECT_EQ(Decode(padded, {}, -9, part, &model), Status::kOk);
      EXPECT_EQ(model, wanted);
    }
    if (more < 100) continue;
    padded.back() = 1;
    Floats model(100);
    EXPECT_EQ(Decode(padded, {}, -9, 7, &model), Status::kMalformed);
  }
}

// Each shorter code is another model, or none.
TEST(ModelDifference, HasTheFewestBytes) {
  for (const Case& c : Cases()) {
    Bytes code = Encode(c.held, c.wanted, c.exponent);
    if (code.empty()) continue;
    EXPECT_NE(code.back(), 0);
    code.pop_back();
    const size_t n = c.wanted.size();
    bool is_same = false;
    for (int last = 0; !code.empty() && last < 256 && !is_same; last += kEveryTrial) {
      code.back() = static_cast<uint8_t>(last);
      is_same = SlowModel(code, c.held, n, c.exponent) == c.wanted;
    }
    EXPECT_FALSE(is_same) << n << " " << c.exponent;
  }
}

// 7,850 differences of a deviation of 1/4 to 8 steps, as rounds of a default job have them. The
// digits behind the first one cost one bit each, although small numbers are more frequent.
TEST(ModelDifference, OfAGaussianTakesAtMostFivePercentMoreThanItsEntropy) {
  for (const double deviation : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const Floats wanted = OnGrid(Normal(7850, deviation, 21), 0);
    std::map<float, int> counts;
    for (const float x : wanted) ++counts[x];
    double bits = 0;
    for (const auto& [x, count] : counts) bits -= count * std::log2(count / 7850.0);
    EXPECT_LE(static_cast<double>(Encode({}, wanted, 0).size()), 1.05 * bits / 8) << deviation;
  }
}

TEST(ModelDifference, RefusesWhatIsOffTheGridOrOutOfRange) {
  Bytes out(MaxDifferenceBytes(2));
  size_t size = 77;
  const auto encode = [&](const Floats& held, const Floats& wanted, int exponent, size_t room) {
    return EncodeDifference(View(held), View(wanted), exponent, {out.data(), room}, &size);
  };
  EXPECT_EQ(encode({}, {1.0f, 0.3f}, -4, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {1.0f, -0.0f}, -4, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {1.0f, 0x1p25f}, 0, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {1.0f, INFINITY}, 0, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {1.0f, 2.0f}, -21, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {1.0f, 2.0f}, 1, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({1.0f}, {1.0f, 2.0f}, 0, out.size()), Status::kInvalidArgument);
  EXPECT_EQ(encode({}, {8191.0f, -8191.0f}, 0, 3), Status::kBufferTooSmall);
  EXPECT_EQ(size, 77u);
  DifferenceReader reader;
  EXPECT_EQ(reader.Begin(1, 5), Status::kInvalidArgument);
  EXPECT_EQ(reader.Begin(-21, 5), Status::kInvalidArgument);
  ASSERT_EQ(reader.Begin(0, 5), Status::kOk);
  Floats model(2);
  EXPECT_EQ(reader.Feed({out.data(), 6}, {}, {model.data(), 2}), Status::kInvalidArgument);
  const Bytes zeros(5);
  EXPECT_EQ(reader.Feed(View(zeros), {}, {model.data(), 2}), Status::kMalformed);  // 2^31 - 1
}

TEST(ModelDifference, CheckIsTheBeginningOfASha256OverTheParameters) {
  for (const size_t n : {0, 1, 16, 17, 500}) {
    const Floats model = Normal(n, 1.0, 8);
    Bytes bytes(4 * n);
    for (size_t i = 0; i < n; ++i) StoreU32Le(FloatBits(model[i]), bytes.data() + 4 * i);
    uint8_t digest[kSha256Size];
    ASSERT_EQ(Sha256Digest(View(bytes), digest), Status::kOk);
    uint8_t check[kModelCheckSize];
    ASSERT_EQ(ModelCheck(View(model), check), Status::kOk);
    EXPECT_TRUE(std::equal(check, check + kModelCheckSize, digest));
  }
}

TEST(ModelDifference, ReaderTakesAtMost420BytesOfRam) { EXPECT_LE(sizeof(DifferenceReader), 420u); }

}  // namespace
}  // namespace sotto
