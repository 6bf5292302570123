// What one cheating device can do under the server's bound: the strongest attack in a direction
// that is known, crossings in the order of their cost per gain, stays below the bound that
// PRIVACY.md prints, and comes near it.

#include "unit/server/shift_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "aggregate/dither_engine.h"
#include "codec/lrq_codec.h"
#include "sotto/bytes.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"
#include "unit/trials.h"

namespace sotto::server {
namespace {

// A cheating device: it knows its dither before it chooses.
class Attack {
 public:
  Attack(uint32_t coordinates, float clip, uint32_t nonce) : coordinates_(coordinates) {
    task_.quantizer_scale = 1.0F;
    task_.training.clip_l2 = clip;
    task_.format = {Coding::kFixed, DitherKind::kGaussian, 0};
    StoreU32Le(nonce, nonce_);
    EXPECT_EQ(DeriveRoundKey(secret_, {task_.job_id, kId, 0, 0, nonce_}, &key_), Status::kOk);
    dither_ = Dither(key_, DitherKind::kGaussian, FastEngine());
    DrawCells();
  }

  // Crosses edges upwards in even and downwards in odd coordinates, the cheapest for its gain
  // first, until the bound is spent. With equal weights a first crossing gains w for a^2.
  void CrossGreedily() {
    struct Crossing {
      uint32_t coordinate;
      uint64_t cost;
      double worth;  // gain / cost
    };
    std::vector<Crossing> crossings;
    for (uint32_t j = 0; j < coordinates_; ++j) {
      const uint64_t cost = SquaredDistance(j, zero_[j] + Sign(j));
      const auto gain = static_cast<double>(cells_[j].step_q27);
      crossings.push_back({j, cost, gain / (static_cast<double>(cost) + 1)});
    }
    std::sort(crossings.begin(), crossings.end(),
              [](const Crossing& a, const Crossing& b) { return a.worth > b.worth; });
    uint64_t left = MaxSquaresQ40(task_.training.clip_l2, task_.quantizer_scale).low;
    m_ = zero_;
    for (const Crossing& crossing : crossings) {
      if (crossing.cost > left) continue;
      left -= crossing.cost;
      m_[crossing.coordinate] += Sign(crossing.coordinate);
    }
  }

  // One more crossing, whatever it costs.
  void CrossOneMore() {
    for (uint32_t j = 0; j < coordinates_; ++j) {
      if (m_[j] == zero_[j]) {
        m_[j] += 4 * Sign(j);
        return;
      }
    }
  }

  // Sends the integers through the server's codec. The decoded values, in scales.
  Verdict Send(std::vector<double>* decoded) const {
    Accumulator sum(coordinates_);
    const std::vector<uint8_t> bytes = Encode();
    const Verdict verdict =
        LrqCodec(task_).Add({kId, secret_, nonce_}, {bytes.data(), bytes.size()}, sum);
    decoded->assign(coordinates_, 0);
    for (uint32_t j = 0; j < coordinates_; ++j) {
      (*decoded)[j] = std::ldexp(static_cast<double>(sum.sums()[j]), -20);
    }
    return verdict;
  }

  // The part of a vector in the attack's direction, of norm 1.
  double Along(const std::vector<double>& values) const {
    double part = 0;
    for (uint32_t j = 0; j < coordinates_; ++j) part += Sign(j) * values[j];
    return part / std::sqrt(static_cast<double>(coordinates_));
  }

  // What an honest update of zeros decodes to.
  std::vector<double> Noise() const {
    const uint8_t zeros[] = {0};
    std::vector<int32_t> noisy(coordinates_);
    EXPECT_EQ(DecodeUpdate(key_, task_.format, zeros, {noisy.data(), noisy.size()}, FastEngine()),
              Status::kOk);
    std::vector<double> noise;
    for (const int32_t value : noisy) noise.push_back(std::ldexp(value, -20));
    return noise;
  }

 private:
  static constexpr uint8_t kIdBytes[] = {'c', 'h', 'e', 'a', 't'};
  static constexpr ByteSpan kId = {kIdBytes, sizeof(kIdBytes)};

  static int Sign(uint32_t j) { return j % 2 == 0 ? 1 : -1; }

  void DrawCells() {
    cells_.resize(coordinates_);
    zero_.resize(coordinates_);
    for (uint32_t first = 0; first < coordinates_; first += kMaxDitherBatch) {
      uint64_t words[kMaxDitherBatch];
      const size_t count = std::min(kMaxDitherBatch, coordinates_ - first);
      ASSERT_EQ(dither_.Generate(first, {words, count}), Status::kOk);
      ASSERT_EQ(dither_.SelectAll(first, {words, count}, {&cells_[first], count}), Status::kOk);
      ASSERT_EQ(QuantizeAll(dither_, first, {&cells_[first], count}, 0, {&zero_[first], count}),
                Status::kOk);
    }
    m_ = zero_;
  }

  uint64_t SquaredDistance(uint32_t j, int32_t m) const {
    Wide squares;
    EXPECT_EQ(AddSquaredDistances(dither_, j, {&cells_[j], 1}, {&m, 1}, &squares), Status::kOk);
    return squares.low;
  }

  // The fixed-length code of any integers (sdk/LRQ.md, section 7.2).
  std::vector<uint8_t> Encode() const {
    constexpr uint8_t kScaleCode = lrq::kMaxScaleCode;
    const int bits = lrq::FixedCodeBits(kScaleCode, DitherKind::kGaussian);
    std::vector<uint8_t> bytes = {kScaleCode};
    BitPacker packer;
    for (uint32_t j = 0; j < coordinates_; ++j) {
      int32_t smallest = 0;
      EXPECT_EQ(Quantize(dither_, j, cells_[j], -lrq::ScaleBoundQ20(kScaleCode), &smallest),
                Status::kOk);
      packer.Append(static_cast<uint32_t>(m_[j] - smallest), bits);
      while (packer.has_byte()) bytes.push_back(packer.TakeByte());
    }
    packer.FillLastByte();
    while (packer.has_byte()) bytes.push_back(packer.TakeByte());
    return bytes;
  }

  uint32_t coordinates_;
  TrainTask task_;
  Key secret_;
  uint8_t nonce_[kNonceSize] = {};
  Key key_;
  Dither dither_;
  std::vector<DitherCell> cells_;
  std::vector<int32_t> zero_;  // the integers of an update of zeros
  std::vector<int32_t> m_;
};

// The mean over 60 nonces has a deviation of about 1 / sqrt(60) = 0.13 scales; six of them: 2e-9.
TEST(ShiftBound, TheGreedyAttackStaysBelowItAndComesNear) {
  constexpr int kNonces = 60;
  constexpr double kTolerance = 0.8;
  const struct {
    uint32_t coordinates;
    float clip;
  } cases[] = {{7850, 6.17F}, {650, 2.0F}, {650, 6.17F}, {7850, 1.0F}};
  for (const auto& c : cases) {
    double shift = 0;
    double norm = 0;
    for (uint32_t nonce = 0; nonce < kNonces; ++nonce) {
      Attack attack(c.coordinates, c.clip, nonce);
      attack.CrossGreedily();
      std::vector<double> decoded;
      ASSERT_EQ(attack.Send(&decoded), Verdict::kAdded);
      shift += attack.Along(decoded) / kNonces;
      const std::vector<double> noise = attack.Noise();
      double square = 0;
      for (size_t j = 0; j < noise.size(); ++j) square += std::pow(decoded[j] - noise[j], 2);
      norm += std::sqrt(square) / kNonces;
      attack.CrossOneMore();
      EXPECT_EQ(attack.Send(&decoded), Verdict::kBeyondBound) << "the bound is spent";
    }
    const double bound = MeanShift(static_cast<double>(c.clip), c.coordinates);
    EXPECT_LT(shift, bound + kTolerance) << c.coordinates << " " << c.clip;
    EXPECT_GT(shift, 0.9 * bound - kTolerance) << c.coordinates << " " << c.clip;
    EXPECT_GT(shift, 1.5 * static_cast<double>(c.clip)) << "more than an honest update's C";
    EXPECT_LT(norm, MeanShiftNorm(static_cast<double>(c.clip), c.coordinates));
  }
}

// The best of 2^10 nonces. That it is above the quantile at 2^-40 has a probability of 2^-30.
TEST(ShiftBound, TheBestOfManyNoncesStaysBelowTheQuantile) {
  constexpr uint32_t kCoordinates = 650;
  constexpr float kClip = 6.17F;
  double best = 0;
  for (uint32_t nonce = 0; nonce < 1024; ++nonce) {
    Attack attack(kCoordinates, kClip, nonce);
    attack.CrossGreedily();
    std::vector<double> decoded;
    ASSERT_EQ(attack.Send(&decoded), Verdict::kAdded);
    best = std::max(best, attack.Along(decoded));
  }
  EXPECT_LT(best, ShiftQuantile(static_cast<double>(kClip), kCoordinates, 40));
  EXPECT_GT(best, MeanShift(static_cast<double>(kClip), kCoordinates));
}

// PRIVACY.md prints the bounds, rounded up to a tenth of a scale.
TEST(ShiftBound, ThePagePrintsIt) {
  const std::string head =
      "| parameters d | C, in sigma | on average | one dither | "
      "best of 2^40 nonces | in units of C |";
  std::ifstream file(SOTTO_SOURCE_DIR "/server/PRIVACY.md");
  std::string line;
  while (std::getline(file, line) && line != head) {
  }
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line) && line.rfind("| ", 0) == 0; ++rows) {
    std::replace(line.begin(), line.end(), '|', ' ');
    line.erase(std::remove(line.begin(), line.end(), ','), line.end());
    double d = 0;
    double clip = 0;
    double mean = 0;
    double one = 0;
    double best = 0;
    double in_clips[3] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf %lf %lf %lf %lf %lf %lf %lf", &d, &clip, &mean, &one,
                          &best, &in_clips[0], &in_clips[1], &in_clips[2]),
              8)
        << line;
    if (!IsTried(rows)) continue;
    EXPECT_NEAR(mean, MeanShift(clip, d) + 0.05, 0.0501) << line;
    EXPECT_NEAR(one, ShiftQuantile(clip, d, 40) + 0.05, 0.0501) << line;
    EXPECT_NEAR(best, ShiftQuantile(clip, d, 80) + 0.05, 0.0501) << line;
    EXPECT_GE(in_clips[0], MeanShift(clip, d) / clip) << line;
    EXPECT_GE(in_clips[1], ShiftQuantile(clip, d, 40) / clip) << line;
    EXPECT_GE(in_clips[2], ShiftQuantile(clip, d, 80) / clip) << line;
  }
  EXPECT_GE(rows, 3);
}

}  // namespace
}  // namespace sotto::server
