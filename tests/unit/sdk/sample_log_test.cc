// A log of samples in flash: a reset within any erase or program loses no sample that was
// acknowledged and makes none that was not written, over several laps of the ring; and what a round
// sees of the log stands still while the log goes on.
#include "sotto/sample_log.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/held_out.h"
#include "sotto/local_round.h"
#include "sotto/models.h"

namespace sotto {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

constexpr uint8_t kHalfErased = 0x5f;

// Flash whose power can fail within any erase or program.
struct Flash {
  explicit Flash(uint32_t page_count = 4, size_t size = 320, uint8_t erased_byte = 0xff,
                 uint8_t fill = 0xff)
      : pages(page_count), page_size(size), erased(erased_byte), bytes(page_count * size, fill) {}

  uint32_t pages;
  size_t page_size;
  uint8_t erased;
  Bytes bytes;
  int calls = 0;
  int cut_at = -1;       // the erase or program, from 0, within which the power fails
  size_t cut_bytes = 0;  // of the page or the unit: how many bytes are changed by then
  int fail_at = -1;      // the erase or program that fails undone
  bool is_off = false;
  std::set<uint32_t> unreadable;
  std::set<uint32_t> worn_out;  // pages that can no longer be erased
  std::vector<int> erases = std::vector<int>(pages);

  PageMemory memory() { return {Read, Erase, Program, this, page_size, erased}; }
  uint8_t* At(uint32_t page, size_t offset) { return bytes.data() + page * page_size + offset; }
  void Restart() {
    is_off = false;
    cut_at = fail_at = -1;
  }

  // How many of `size` bytes a call changes; sets is_off, or *fails.
  size_t Next(size_t size, bool* fails) {
    const int call = calls++;
    *fails = is_off || call == fail_at || call == cut_at;
    if (is_off || call == fail_at) return 0;
    is_off = call == cut_at;
    return is_off ? std::min(size, cut_bytes) : size;
  }

  static Status Read(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_LT(page, self->pages);
    EXPECT_LE(offset + out.size(), self->page_size);
    if (self->is_off || self->unreadable.count(page) > 0) return Status::kStoreFailed;
    std::copy_n(self->At(page, offset), out.size(), out.begin());
    return Status::kOk;
  }

  // A cut erase: the first bytes are erased, and as many behind them half so.
  static Status Erase(void* context, uint32_t page) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_LT(page, self->pages);
    if (self->worn_out.count(page) > 0) return Status::kStoreFailed;
    bool fails = false;
    const size_t done = self->Next(self->page_size, &fails);
    const size_t half = std::min(done, self->page_size - done);
    std::fill_n(self->At(page, 0), done, self->erased);
    std::fill_n(self->At(page, done), half, kHalfErased);
    if (!fails) ++self->erases[page];
    return fails ? Status::kStoreFailed : Status::kOk;
  }

  static Status Program(void* context, uint32_t page, size_t offset, ByteSpan in) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_EQ(offset % kProgramUnit, 0u);
    EXPECT_EQ(in.size() % kProgramUnit, 0u);
    uint8_t* const at = self->At(page, offset);
    EXPECT_TRUE(
        std::all_of(at, at + in.size(), [self](uint8_t byte) { return byte == self->erased; }));
    bool fails = false;
    std::copy_n(in.begin(), self->Next(in.size(), &fails), at);
    return fails ? Status::kStoreFailed : Status::kOk;
  }
};

using Net = nn::Sequential<nn::Dense<20, 3>>;
using Coder = nn::Sequential<nn::Dense<20, 2>, nn::Tanh, nn::Dense<2, 20>,
                             nn::MeanSquaredError<nn::TargetKind::kInput>>;
using Regression = nn::Sequential<nn::Dense<20, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
constexpr ModelInfo kNet = MakeModelInfo<Net>("net");
constexpr ModelInfo kCoder = MakeModelInfo<Coder>("coder");
constexpr ModelInfo kRegression = MakeModelInfo<Regression>("regression");
constexpr ModelInfo kOther = MakeModelInfo<nn::Sequential<nn::Dense<21, 3>>>("other");

// Windows of 10 readings of two axes: 96 bytes in flash, so three to a page.
constexpr SampleLogConfig Config() {
  SampleLogConfig config;
  config.pages = 4;
  config.shape = nn::ShapeOf(10, 2);
  config.scale = 0.5f;
  return config;
}
constexpr size_t kSlots = Config().SlotsOf(320);
static_assert(Config().SampleBytes() == 40 && Config().SlotBytes() == 96 && kSlots == 3);
static_assert(Config().Capacity(320) == 9 && Config().SnapshotWords(320) == 2);

// The elements of sample `seed`.
Bytes Raw(uint32_t seed, size_t size = 40) {
  Bytes raw(size);
  for (size_t i = 0; i < size; ++i) raw[i] = static_cast<uint8_t>(31 * seed + 7 * i);
  return raw;
}
ByteSpan View(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

uint32_t Append(SampleLog* log, uint32_t seed) {
  uint32_t sequence = 0;
  EXPECT_EQ(log->Append(View(Raw(seed)), &sequence), Status::kOk) << seed;
  return sequence;
}

// The log's samples by sequence number: elements and label.
using Contents = std::map<uint32_t, std::pair<Bytes, uint32_t>>;
Contents All(const SampleLog& log) {
  Contents all;
  for (uint32_t sequence = log.begin(); sequence < log.end(); ++sequence) {
    Bytes raw(log.config().SampleBytes());
    uint32_t label = 0;
    if (log.Read(sequence, {raw.data(), raw.size()}, &label) != Status::kOk) continue;
    all[sequence] = {raw, label};
  }
  return all;
}

Contents Reopened(Flash& flash) {
  SampleLog log(flash.memory(), Config());
  EXPECT_EQ(log.Open(), Status::kOk);
  return All(log);
}

TEST(SampleLog, ItsFormatIsAsItsHeaderSays) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  log.LabelNext(0x01020304, 1);
  ASSERT_EQ(log.Append(View(Raw(1))), Status::kOk);
  ASSERT_EQ(log.Append(View(Raw(2))), Status::kOk);
  ASSERT_EQ(log.Label(1, 2), Status::kOk);
  const Bytes head = {'S', 'o', 'L', 'g', 1, 2, 4, 0, 1, 0, 0, 0,
                      10,  0,   0,   0,   2, 0, 0, 0, 0, 0, 0, 0x3f};
  EXPECT_TRUE(std::equal(head.begin(), head.end(), flash.At(0, 0)));
  // zlib's crc32() of these bytes.
  EXPECT_EQ(LoadU32Le(flash.At(0, 28)), 0xea2b6b4du);
  EXPECT_EQ(Bytes(flash.At(0, 32), flash.At(0, 64)), Bytes(32, 0xff));
  EXPECT_EQ(LoadU32Le(flash.At(0, 64)), 0x01020304u);
  EXPECT_EQ(LoadU32Le(flash.At(0, 68)), 0x6609db45u);
  EXPECT_EQ(Bytes(flash.At(0, 72), flash.At(0, 112)), Raw(1));
  EXPECT_EQ(LoadU32Le(flash.At(0, 128)), 2u);
  EXPECT_EQ(LoadU32Le(flash.At(0, 132)), 0x381177cu);
  EXPECT_EQ(LoadU32Le(flash.At(0, 160)), kUnlabelled);
}

TEST(SampleLog, TheRingKeepsTheNewestSamplesAndErasesEachPageOnceALap) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  EXPECT_TRUE(All(log).empty());
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Append(&log, i), i);
    const Contents all = All(log);
    ASSERT_GE(all.size(), std::min<size_t>(i + 1, 9));
    ASSERT_EQ(all.rbegin()->first, i);
    for (const auto& [sequence, sample] : all) {
      ASSERT_EQ(sample.first, Raw(sequence));
      ASSERT_EQ(sample.second, kUnlabelled);
    }
    ASSERT_EQ(Reopened(flash), all);
  }
  for (const int erases : flash.erases) EXPECT_NEAR(erases, 100.0 / 12, 1);
}

// What a program does with a log: 40 windows over more than three laps, some with labels that were
// announced, and some that get theirs later.
class Play {
 public:
  explicit Play(Flash* flash) : flash_(*flash) {}

  // Until the power fails, or the end.
  void Run() {
    SampleLog log(flash_.memory(), Config());
    if (log.Open() != Status::kOk) return;
    for (uint32_t i = 0; i < 40 && !flash_.is_off; ++i) {
      if (i % 5 == 0) log.LabelNext(i % 3, 2);
      uint32_t sequence = 0;
      written_.insert(Raw(i));
      if (log.Append(View(Raw(i)), &sequence) != Status::kOk) break;
      acknowledged_[sequence] = {Raw(i), i % 5 < 2 ? (i - i % 5) % 3 : kUnlabelled};
      if (i % 5 == 3) {
        tried_.insert(sequence);
        if (log.Label(sequence, 1) != Status::kOk) break;
        acknowledged_[sequence].second = 1;
      }
    }
  }

  // Of what is there after the restart.
  void Expect(const Contents& found) const {
    for (const auto& [sequence, sample] : found) {
      ASSERT_TRUE(written_.count(sample.first)) << "no torn sample: " << sequence;
      const auto known = acknowledged_.find(sequence);
      if (known == acknowledged_.end()) continue;
      ASSERT_EQ(sample.first, known->second.first);
      if (tried_.count(sequence) > 0 && known->second.second == kUnlabelled) {
        ASSERT_TRUE(sample.second == kUnlabelled || sample.second == 1);
      } else {
        ASSERT_EQ(sample.second, known->second.second);
      }
    }
    for (const auto& [sequence, sample] : acknowledged_) {
      const bool may_be_erased = sequence / kSlots + 3 <= newest() / kSlots;
      ASSERT_TRUE(may_be_erased || found.count(sequence) == 1) << sequence << " of " << newest();
    }
  }

  uint32_t newest() const { return acknowledged_.empty() ? 0 : acknowledged_.rbegin()->first; }

 private:
  Flash& flash_;
  std::set<Bytes> written_;
  Contents acknowledged_;
  std::set<uint32_t> tried_;  // to label
};

TEST(SampleLog, AResetWithinAnyCallLosesNothingAndTearsNothing) {
  Flash whole;
  Play(&whole).Run();
  ASSERT_GT(whole.calls, 100);
  for (int cut = 0; cut < whole.calls; ++cut) {
    for (const size_t bytes : {0, 1, 4, 7, 8, 20, 31, 32, 150, 320}) {
      Flash flash;
      flash.cut_at = cut;
      flash.cut_bytes = bytes;
      Play play(&flash);
      play.Run();
      ASSERT_TRUE(flash.is_off) << "the fault has fired";
      flash.Restart();
      play.Expect(Reopened(flash));

      // And it goes on, behind all that was.
      SampleLog log(flash.memory(), Config());
      ASSERT_EQ(log.Open(), Status::kOk);
      const Contents before = All(log);
      const uint32_t next = Append(&log, 200);
      ASSERT_TRUE(before.empty() || next > before.rbegin()->first);
      ASSERT_LE(next, play.newest() + 3) << "a torn write costs a place";
      for (uint32_t i = 1; i < 15; ++i) Append(&log, 200 + i);
      ASSERT_GE(Reopened(flash).size(), 9u);
    }
  }
}

TEST(SampleLog, AWriteThatFailsIsToldAndCostsAPlace) {
  Flash whole;
  Play(&whole).Run();
  for (int fail = 0; fail < whole.calls; ++fail) {
    Flash flash;
    SampleLog log(flash.memory(), Config());
    ASSERT_EQ(log.Open(), Status::kOk);
    flash.fail_at = fail;
    Contents acknowledged;
    int failures = 0;
    for (uint32_t i = 0; i < 40; ++i) {
      uint32_t sequence = 0;
      const Status status = log.Append(View(Raw(i)), &sequence);
      ASSERT_TRUE(status == Status::kOk || status == Status::kStoreFailed);
      failures += status == Status::kOk ? 0 : 1;
      if (status == Status::kOk) acknowledged[sequence] = {Raw(i), kUnlabelled};
    }
    ASSERT_EQ(failures, flash.calls > fail ? 1 : 0);
    const Contents all = All(log);
    ASSERT_GE(all.size(), 8u);
    for (const auto& [sequence, sample] : all) ASSERT_EQ(acknowledged.at(sequence), sample);
    // The samples of a page whose erasure failed may come back.
    const Contents reopened = Reopened(flash);
    ASSERT_GE(reopened.size(), all.size());
    for (const auto& [sequence, sample] : reopened) ASSERT_EQ(acknowledged.at(sequence), sample);
  }
}

TEST(SampleLog, BytesThatReadBackOtherwiseAreNoSample) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  Append(&log, 0);
  PageMemory worn = flash.memory();
  worn.program = [](void*, uint32_t, size_t, ByteSpan) { return Status::kOk; };
  SampleLog on_worn(worn, Config());
  ASSERT_EQ(on_worn.Open(), Status::kOk);
  EXPECT_EQ(on_worn.Append(View(Raw(1))), Status::kStoreFailed);
  EXPECT_EQ(on_worn.Label(0, 1), Status::kStoreFailed);
  Flash empty;
  worn.context = &empty;
  SampleLog first(worn, Config());
  ASSERT_EQ(first.Open(), Status::kOk);
  EXPECT_EQ(first.Append(View(Raw(1))), Status::kStoreFailed);
  EXPECT_TRUE(All(first).empty());
}

// Samples 0 to 2 are on page 0, and so on.
TEST(SampleLog, ItGoesOnBehindAPageThatCannotBeErased) {
  Flash flash;
  flash.worn_out = {1};
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  int failures = 0;
  for (uint32_t i = 0; i < 27 + 3; ++i) {
    const Status status = log.Append(View(Raw(i)));
    ASSERT_EQ(status, i == 3 || i == 13 || i == 23 ? Status::kStoreFailed : Status::kOk) << i;
    failures += status == Status::kOk ? 0 : 1;
  }
  EXPECT_EQ(failures, 3) << "once a lap";
  EXPECT_EQ(log.end(), 36u);
  EXPECT_EQ(All(log).size(), 9u);
  EXPECT_EQ(Reopened(flash), All(log));
}

TEST(SampleLog, ADamagedSampleIsLeftOutAndADamagedPageToo) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  for (uint32_t i = 0; i < 12; ++i) Append(&log, i);
  for (size_t byte = 64; byte < 64 + 48; ++byte) {
    *flash.At(1, byte) ^= 4;
    ASSERT_EQ(Reopened(flash).count(3), 0u) << byte;
    ASSERT_EQ(Reopened(flash).size(), 11u);
    *flash.At(1, byte) ^= 4;
  }
  flash.unreadable = {1};
  EXPECT_EQ(Reopened(flash).size(), 9u);
  flash.unreadable = {0, 1, 2, 3};
  EXPECT_EQ(SampleLog(flash.memory(), Config()).Open(), Status::kStoreFailed);
}

TEST(SampleLog, MemoryWithAnythingInItAndFlashThatErasesToZeroAreNew) {
  for (const uint8_t erased : {uint8_t{0x00}, uint8_t{0xff}}) {
    for (const uint8_t fill : {uint8_t{0x00}, uint8_t{0x5a}, uint8_t{0xff}}) {
      Flash flash(4, 320, erased, fill);
      SampleLog log(flash.memory(), Config());
      ASSERT_EQ(log.Open(), Status::kOk);
      ASSERT_TRUE(All(log).empty());
      for (uint32_t i = 0; i < 20; ++i) ASSERT_EQ(Append(&log, i), i);
      ASSERT_EQ(log.Label(19, 1), Status::kOk);
      ASSERT_EQ(Reopened(flash), All(log));
    }
  }
}

TEST(SampleLog, OtherSamplesAreRefusedUntilTheLogIsFormatted) {
  Flash flash;
  {
    SampleLog log(flash.memory(), Config());
    ASSERT_EQ(log.Open(), Status::kOk);
    Append(&log, 1);
  }
  std::vector<SampleLogConfig> others(4, Config());
  others[0].scale = 0.25f;
  others[1].shape = nn::ShapeOf(20);
  others[2].element = SampleElement::kByte;
  others[3].pages = 3;
  for (const SampleLogConfig& other : others) {
    SampleLog log(flash.memory(), other);
    EXPECT_EQ(log.Open(), Status::kMismatch);
    EXPECT_FALSE(log.is_open());
    EXPECT_EQ(log.Append(View(Raw(1))), Status::kWrongState);
    EXPECT_EQ(log.Label(0, 1), Status::kWrongState);
  }
  EXPECT_EQ(Reopened(flash).size(), 1u);
  SampleLog log(flash.memory(), others[0]);
  ASSERT_EQ(log.Format(), Status::kOk);
  EXPECT_EQ(Append(&log, 5), 0u);
  flash.fail_at = flash.calls;
  EXPECT_EQ(log.Format(), Status::kStoreFailed);
  EXPECT_FALSE(log.is_open());
}

TEST(SampleLog, ConfigurationsOutsideTheirRangesAreRefused) {
  Flash flash;
  const auto open = [&](const std::function<void(SampleLogConfig*, PageMemory*)>& change) {
    SampleLogConfig config = Config();
    PageMemory memory = flash.memory();
    change(&config, &memory);
    return SampleLog(memory, config).Open();
  };
  using C = SampleLogConfig*;
  using M = PageMemory*;
  EXPECT_EQ(open([](C, M) {}), Status::kOk);
  EXPECT_EQ(open([](C, M m) { m->erase = nullptr; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C, M m) { m->page_size = 96; }), Status::kInvalidArgument) << "no room";
  EXPECT_EQ(open([](C, M m) { m->page_size = 319; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->pages = 2; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->reserve_pages = 3; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->scale = 0; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->scale = NAN; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->shape.channels = 0; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->shape = {65536, 65536, 65536}; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->element = static_cast<SampleElement>(4); }),
            Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->held_out = {10, 0, 0}; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->held_out = {10, 4, 3}; }), Status::kInvalidArgument);
  EXPECT_EQ(open([](C c, M) { c->held_out = {10, 3, 3}; }), Status::kOk);
}

TEST(SampleLog, LabelsAreAnnouncedOrComeLaterOnce) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  ASSERT_EQ(log.Open(), Status::kOk);
  Append(&log, 0);
  log.LabelNext(2, 2);
  for (uint32_t i = 1; i < 5; ++i) Append(&log, i);
  EXPECT_EQ(log.Label(4, 1), Status::kOk);
  const auto label = [&](uint32_t sequence) { return Reopened(flash).at(sequence).second; };
  EXPECT_EQ(label(0), kUnlabelled);
  EXPECT_EQ(label(1), 2u);
  EXPECT_EQ(label(2), 2u);
  EXPECT_EQ(label(3), kUnlabelled);
  EXPECT_EQ(label(4), 1u);
  EXPECT_EQ(log.Label(4, 0), Status::kWrongState);
  EXPECT_EQ(log.Label(1, 0), Status::kWrongState);
  EXPECT_EQ(log.Label(0, kUnlabelled), Status::kInvalidArgument);
  EXPECT_EQ(log.Label(5, 0), Status::kOutOfRange);
  *flash.At(0, 80) ^= 1;
  EXPECT_EQ(log.Label(0, 0), Status::kOutOfRange) << "damaged";
  *flash.At(1, 32) ^= 0x10;
  EXPECT_EQ(log.Label(3, 0), Status::kWrongState) << "a torn label";
  EXPECT_EQ(label(3), kUnlabelled);
  log.LabelNext(1, 5);
  log.LabelNext(1, 0);
  Append(&log, 6);
  EXPECT_EQ(label(5), kUnlabelled);
}

// ---- Windows

struct Stream {
  Stream(SampleElement element, float scale, uint32_t hop) : flash(4, 320) {
    config = Config();
    config.element = element;
    config.scale = scale;
    config.shape = nn::ShapeOf(4, 2);
    log = std::make_unique<SampleLog>(flash.memory(), config);
    EXPECT_EQ(log->Open(), Status::kOk);
    memory.resize(config.SampleBytes());
    windower = std::make_unique<Windower>(log.get(), 2, hop,
                                          MutableByteSpan(memory.data(), memory.size()));
  }
  Status Push(Floats reading) { return windower->Push({reading.data(), reading.size()}); }
  // The first elements of the log's windows, as int16.
  std::vector<int> Firsts() const {
    std::vector<int> firsts;
    for (const auto& [sequence, sample] : All(*log)) {
      firsts.push_back(static_cast<int16_t>(sample.first[0] | sample.first[1] << 8));
    }
    return firsts;
  }

  Flash flash;
  SampleLogConfig config;
  std::unique_ptr<SampleLog> log;
  Bytes memory;
  std::unique_ptr<Windower> windower;
};

TEST(Windower, WindowsAreAHopApartWhetherTheyOverlapOrNot) {
  for (const uint32_t hop : {1U, 2U, 3U, 4U, 6U}) {
    Stream stream(SampleElement::kInt16, 1, hop);
    for (int i = 0; i < 24; ++i) {
      ASSERT_EQ(stream.Push({static_cast<float>(i), static_cast<float>(-i)}), Status::kOk);
    }
    const Contents all = All(*stream.log);
    ASSERT_FALSE(all.empty());
    for (const auto& [sequence, sample] : all) {
      for (uint32_t j = 0; j < 4; ++j) {
        const auto* at = &sample.first[4 * j];
        ASSERT_EQ(static_cast<int16_t>(at[0] | at[1] << 8), static_cast<int>(hop * sequence + j));
        ASSERT_EQ(static_cast<int16_t>(at[2] | at[3] << 8), -static_cast<int>(hop * sequence + j));
      }
    }
    EXPECT_EQ(all.rbegin()->first, (24 - 4) / hop) << hop;
  }
}

TEST(Windower, ValuesAreScaledRoundedAndLimited) {
  const float inf = std::numeric_limits<float>::infinity();
  Stream stream(SampleElement::kInt16, 0.5f, 4);
  for (const Floats& reading : {Floats{1, -1}, {0.2f, 0.3f}, {-0.2f, -0.25f}, {1e9f, -1e30f}}) {
    ASSERT_EQ(stream.Push(reading), Status::kOk);
    ASSERT_EQ(stream.Push({inf, 0}), Status::kNotFinite) << "it is not taken";
    ASSERT_EQ(stream.Push({0, NAN}), Status::kNotFinite);
    ASSERT_EQ(stream.Push({0}), Status::kInvalidArgument);
  }
  const Bytes raw = All(*stream.log).at(0).first;
  const std::vector<int> expected = {2, -2, 0, 1, 0, -1, 32767, -32768};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(static_cast<int16_t>(raw[2 * i] | raw[2 * i + 1] << 8), expected[i]) << i;
  }

  Stream bytes(SampleElement::kByte, 1 / 255.0f, 4);
  for (const Floats& reading : {Floats{0, 1}, {-1, 2}, {0.503f, 0.25f}, {0, 0}}) {
    ASSERT_EQ(bytes.Push(reading), Status::kOk);
  }
  EXPECT_EQ(All(*bytes.log).at(0).first, (Bytes{0, 255, 0, 255, 128, 64, 0, 0}));

  Stream floats(SampleElement::kFloat32, 0.25f, 4);
  for (const Floats& reading : {Floats{1, NAN}, {3e38f, -3e38f}, {-0.1f, 0}, {0, 0}}) {
    ASSERT_EQ(floats.Push(reading), Status::kOk);
  }
  ASSERT_EQ(floats.Push({inf, 0}), Status::kNotFinite);
  const Bytes stored = All(*floats.log).at(0).first;
  EXPECT_EQ(FloatFromBits(LoadU32Le(&stored[0])), 4.0f);
  EXPECT_TRUE(std::isnan(FloatFromBits(LoadU32Le(&stored[4]))));
  EXPECT_EQ(FloatFromBits(LoadU32Le(&stored[8])), std::numeric_limits<float>::max());
  EXPECT_EQ(FloatFromBits(LoadU32Le(&stored[12])), -std::numeric_limits<float>::max());
}

TEST(Windower, ARestartBeginsAWindowAndRawReadingsAreTakenAsTheyAre) {
  Stream stream(SampleElement::kInt16, 1, 2);
  for (float i = 0; i < 3; ++i) ASSERT_EQ(stream.Push({i, i}), Status::kOk);
  stream.windower->Restart();
  stream.log->LabelNext(1, 1);
  for (float i = 10; i < 14; ++i) ASSERT_EQ(stream.Push({i, i}), Status::kOk);
  EXPECT_EQ(stream.Firsts(), (std::vector<int>{10}));
  EXPECT_EQ(All(*stream.log).at(0).second, 1u);
  const uint8_t reading[] = {20, 0, 21, 0};
  EXPECT_EQ(stream.windower->PushRaw(ByteSpan(reading)), Status::kOk);
  EXPECT_EQ(stream.windower->PushRaw(ByteSpan(reading, 3)), Status::kInvalidArgument);
  EXPECT_EQ(stream.windower->PushRaw(ByteSpan(reading)), Status::kOk);
  EXPECT_EQ(stream.Firsts(), (std::vector<int>{10, 12}));
  Windower wrong(stream.log.get(), 3, 1, {stream.memory.data(), stream.memory.size()});
  EXPECT_EQ(wrong.PushRaw(ByteSpan(reading)), Status::kInvalidArgument);
}

// ---- Snapshots

struct Seen {
  Bytes raw;  // of features that are halves
  uint32_t label = 0;
  bool operator==(const Seen& other) const { return raw == other.raw && label == other.label; }
};

std::vector<Seen> Samples(const SampleSource& source) {
  std::vector<Seen> all;
  for (uint32_t i = 0; i < source.count; ++i) {
    Floats features(20);
    Seen seen;
    EXPECT_EQ(source.read(source.context, i, {features.data(), 20}, &seen.label), Status::kOk);
    for (const float feature : features) {
      const auto raw = static_cast<int>(std::lround(2 * feature));
      seen.raw.push_back(static_cast<uint8_t>(raw));
      seen.raw.push_back(static_cast<uint8_t>(raw >> 8));
    }
    all.push_back(seen);
  }
  return all;
}

// A log and a snapshot of it.
struct Rig {
  explicit Rig(const ModelInfo& model = kCoder, SampleLogConfig config = Config())
      : log(flash.memory(), config), snapshot(&log, model, marks) {
    EXPECT_EQ(log.Open(), Status::kOk);
  }
  Flash flash;
  SampleLog log;
  uint32_t marks[Config().SnapshotWords(320)] = {};
  SampleSnapshot snapshot;
};

TEST(SampleSnapshot, ItStandsStillWhileTheLogGoesOnUntilTheReserveIsFull) {
  for (uint32_t before = 0; before < 30; ++before) {
    Rig rig;
    for (uint32_t i = 0; i < before; ++i) Append(&rig.log, i);
    ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
    const std::vector<Seen> samples = Samples(rig.snapshot.source());
    // Three of the four pages: of a full ring the oldest one is left to new samples.
    ASSERT_EQ(samples.size(), before <= 9 ? before : 7 + (before - 1) % 3) << before;
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSERT_EQ(samples[i].raw, Raw(static_cast<uint32_t>(before - samples.size() + i)));
      ASSERT_EQ(samples[i].label, 0u);
    }
    uint32_t more = 0;
    while (rig.log.Append(View(Raw(100 + more))) == Status::kOk) {
      ++more;
      ASSERT_EQ(Samples(rig.snapshot.source()), samples) << before << " " << more;
      ASSERT_LT(more, 20u);
    }
    ASSERT_GE(more, kSlots);
    EXPECT_EQ(rig.log.Append(View(Raw(1))), Status::kWrongState);
    EXPECT_EQ(rig.log.Open(), Status::kWrongState);
    EXPECT_EQ(rig.log.Format(), Status::kWrongState);
    EXPECT_EQ(Samples(rig.snapshot.source()), samples);
    rig.snapshot.Release();
    EXPECT_EQ(rig.snapshot.source().count, 0u);
    Append(&rig.log, 99);
    ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
    EXPECT_EQ(Samples(rig.snapshot.source()).back().raw, Raw(99));
  }
}

TEST(SampleSnapshot, AModelOfClassesSeesItsLabelledSamplesAndAnAutoencoderAll) {
  Rig rig(kNet);
  for (uint32_t i = 0; i < 6; ++i) {
    rig.log.LabelNext(i, i == 2 ? 0 : 1);  // 0 to 5; three classes
    Append(&rig.log, i);
  }
  ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
  const std::vector<Seen> two = {{Raw(0), 0}, {Raw(1), 1}};
  EXPECT_EQ(Samples(rig.snapshot.source()), two);
  ASSERT_EQ(rig.log.Label(2, 2), Status::kOk);
  EXPECT_EQ(Samples(rig.snapshot.source()), two) << "it stands still";
  ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
  EXPECT_EQ(Samples(rig.snapshot.source()), (std::vector<Seen>{two[0], two[1], {Raw(2), 2}}));
  rig.snapshot.Release();
  uint32_t marks[2];
  SampleSnapshot all(&rig.log, kCoder, marks);
  ASSERT_EQ(all.Take(), Status::kOk);
  EXPECT_EQ(Samples(all.source()).size(), 6u);
}

TEST(SampleSnapshot, HeldOutSamplesStaySoForAsLongAsTheyLive) {
  SampleLogConfig config = Config();
  config.held_out = {8, 3, 1};
  Rig rig(kCoder, config);
  std::set<uint8_t> trained, held;
  for (uint32_t i = 0; i < 60; ++i) {
    Append(&rig.log, i);
    ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
    for (const Seen& seen : Samples(rig.snapshot.source())) trained.insert(seen.raw[0]);
    for (const Seen& seen : Samples(rig.snapshot.held_out_source())) held.insert(seen.raw[0]);
    rig.snapshot.Release();
  }
  // Of 0 to 7: 5, 6 and 7 are held out; 4 and the 0 behind them are their neighbours.
  for (uint32_t i = 0; i < 60; ++i) {
    const uint8_t first = Raw(i)[0];
    ASSERT_EQ(held.count(first), i % 8 >= 5 ? 1u : 0u) << i;
    ASSERT_EQ(trained.count(first), i % 8 >= 1 && i % 8 <= 3 ? 1u : 0u) << i;
  }
  EXPECT_EQ(OverlapOf(128, 64), 1u);
  EXPECT_EQ(OverlapOf(128, 128), 0u);
  EXPECT_EQ(OverlapOf(128, 50), 2u);
  EXPECT_EQ(OverlapOf(128, 200), 0u);
}

TEST(SampleSnapshot, DamagedSamplesAreNotInIt) {
  Rig rig;
  for (uint32_t i = 0; i < 9; ++i) Append(&rig.log, i);
  *rig.flash.At(0, 80) ^= 1;  // a sample
  *rig.flash.At(1, 3) ^= 1;   // the head of a page
  ASSERT_EQ(rig.snapshot.Take(), Status::kOk);
  EXPECT_EQ(Samples(rig.snapshot.source()).size(), 5u);
  const SampleSource source = rig.snapshot.source();
  rig.flash.unreadable = {0, 1, 2, 3};
  Floats features(20);
  uint32_t label = 0;
  EXPECT_EQ(source.read(source.context, 0, {features.data(), 20}, &label), Status::kStoreFailed);
  EXPECT_EQ(source.read(source.context, 5, {features.data(), 20}, &label), Status::kWrongState);
}

TEST(SampleSnapshot, WhatDoesNotFitIsRefused) {
  Flash flash;
  SampleLog log(flash.memory(), Config());
  uint32_t marks[2];
  SampleSnapshot snapshot(&log, kNet, marks);
  EXPECT_EQ(snapshot.Take(), Status::kWrongState) << "not open";
  ASSERT_EQ(log.Open(), Status::kOk);
  EXPECT_EQ(SampleSnapshot(&log, kOther, marks).Take(), Status::kMismatch);
  EXPECT_EQ(SampleSnapshot(&log, kRegression, marks).Take(), Status::kMismatch);
  EXPECT_EQ(SampleSnapshot(&log, kNet, Span<uint32_t>(marks, 1)).Take(), Status::kBufferTooSmall);
  EXPECT_EQ(snapshot.Take(), Status::kOk);
  EXPECT_EQ(SampleSnapshot(&log, kNet, marks).Take(), Status::kWrongState) << "two at once";
  EXPECT_EQ(snapshot.source().count, 0u) << "there are no samples yet";
}

TEST(SampleSnapshot, ElementsOfEachKindBecomeValues) {
  for (const auto element :
       {SampleElement::kByte, SampleElement::kInt16, SampleElement::kFloat32}) {
    SampleLogConfig config = Config();
    config.element = element;
    config.scale = 0.25f;
    Flash flash(4, 320);
    SampleLog log(flash.memory(), config);
    ASSERT_EQ(log.Open(), Status::kOk);
    Bytes window(config.SampleBytes());
    Windower windower(&log, 2, 10, {window.data(), window.size()});
    for (int i = 0; i < 10; ++i) {
      const float reading[] = {static_cast<float>(i), 0.25f * static_cast<float>(i)};
      ASSERT_EQ(windower.Push(reading), Status::kOk);
    }
    std::vector<uint32_t> marks(config.SnapshotWords(320));
    SampleSnapshot snapshot(&log, kCoder, {marks.data(), marks.size()});
    ASSERT_EQ(snapshot.Take(), Status::kOk);
    const SampleSource source = snapshot.source();
    Floats features(20);
    uint32_t label = 7;
    ASSERT_EQ(source.read(source.context, 0, {features.data(), 20}, &label), Status::kOk);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(features[2 * i], static_cast<float>(i));
      EXPECT_EQ(features[2 * i + 1], 0.25f * static_cast<float>(i));
    }
    EXPECT_EQ(label, 0u);
  }
}

// A round takes the snapshot when it begins and releases it when its training is over.
TEST(SampleSnapshot, ARoundTrainsOnWhatThereIsWhenItBegins) {
  SampleLogConfig log_config = Config();
  log_config.held_out = {4, 1, 0};
  Rig rig(kNet, log_config);
  HeldOut held_out = MakeHeldOut(rig.snapshot.held_out_source());
  LocalDevice device;
  device.model = &kNet;
  const uint8_t id[] = {'d'};
  device.device_id = ByteSpan(id);
  device.samples = rig.snapshot.source();
  device.held_out = &held_out;
  device.port.entropy = [](void*, MutableByteSpan out) {
    std::fill(out.begin(), out.end(), uint8_t{1});
    return Status::kOk;
  };
  TrainTask task;
  task.quantizer_scale = 0.001f;
  task.training.local_epochs = 1;
  task.training.batch_size = 1;
  task.training.learning_rate = 0.01f;
  Floats base(kNet.parameters), update(kNet.parameters);
  Floats scratch(kNet.training_floats(kNet, 1) + EvaluationFloats(kNet));
  uint32_t indices[1];
  LocalRoundBuffers buffers;
  buffers.base = {base.data(), base.size()};
  buffers.update = {update.data(), update.size()};
  buffers.scratch = {scratch.data(), scratch.size()};
  buffers.indices = indices;

  for (const uint32_t samples : {0U, 4U, 8U}) {
    rig.log.LabelNext(1, 100);
    while (rig.log.end() < samples) Append(&rig.log, rig.log.end());
    LocalRound round;
    ASSERT_EQ(round.Begin(task, device, buffers), Status::kOk);
    EXPECT_EQ(rig.log.Open(), Status::kWrongState) << "held";
    bool done = false;
    while (!done) ASSERT_EQ(round.Step(&done), Status::kOk);
    EXPECT_EQ(round.failure(), Status::kOk);
    EXPECT_EQ(round.steps(), samples * 3 / 4);
    EXPECT_EQ(rig.log.Open(), Status::kOk) << "released";
  }
  {
    LocalRound round;
    ASSERT_EQ(round.Begin(task, device, buffers), Status::kOk);
    EXPECT_EQ(rig.log.Open(), Status::kWrongState);
  }
  EXPECT_EQ(rig.log.Open(), Status::kOk) << "a round that ends early releases it, too";
}

}  // namespace
}  // namespace sotto
