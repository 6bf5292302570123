// The worked example of server/PROTOCOL.md, computed by the code that devices run. If a case fails,
// its message holds the text that belongs on the page.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "device/cells.h"
#include "sotto/bytes.h"
#include "sotto/initial_weights.h"
#include "sotto/model_difference.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"
#include "sotto/wire.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/slow_range_encoder.h"

namespace sotto {
namespace {

constexpr ModelInfo kModel = MakeModelInfo<nn::Sequential<nn::Dense<2, 2>>>("example");
constexpr uint32_t kSize = 6;
constexpr float kBase[kSize] = {0.5f, -0.5f, 0.25f, -0.25f, 0.0f, 1.0f};
constexpr float kUpdate[kSize] = {0.125f, -0.25f, 7.3f, 0.0625f, -1.7f, 0.0f};
constexpr float kClip = 8.0f;
constexpr float kUnit = 0.25f;

std::string Line(const std::string& name, const std::string& value) {
  std::string line = name + " ";
  line.resize(std::max<size_t>(line.size(), 15), ' ');
  return line + value + "\n";
}

// Hexadecimal, 32 bytes a line.
std::string Line(const std::string& name, ByteSpan bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 32) {
    const size_t count = std::min<size_t>(32, bytes.size() - at);
    text += Line(at == 0 ? name : "", ToHex(bytes.subspan(at, count)));
  }
  return text;
}

std::vector<uint8_t> Count(uint8_t first, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i);
  return bytes;
}

std::string Hex64(uint64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (56 - 8 * i));
  return ToHex(bytes);
}

std::string Column(int64_t value, size_t width) {
  const std::string text = std::to_string(value);
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string FrameLine(const std::string& title, const Request& request) {
  uint8_t frame[kFrameHeaderSize + kDefaultMaxFrame];
  size_t size = 0;
  EXPECT_EQ(EncodeRequest(request, kDefaultMaxFrame, frame, &size), Status::kOk);
  return Line("> " + title, {frame, size});
}

std::string FrameLine(const std::string& title, const Reply& reply) {
  uint8_t frame[kFrameHeaderSize + kDefaultMaxFrame];
  size_t size = 0;
  EXPECT_EQ(EncodeReply(reply, kDefaultMaxFrame, frame, &size), Status::kOk);
  return Line("< " + title, {frame, size});
}

Request Asks(Request::Kind kind) {
  Request request;
  request.kind = kind;
  return request;
}

Reply Answers(Reply::Kind kind) {
  Reply reply;
  reply.kind = kind;
  return reply;
}

constexpr UpdateFormat kFixed = {Coding::kFixed, DitherKind::kGaussian, 0};
constexpr UpdateFormat kRange = {Coding::kRange, DitherKind::kGaussian, 8};

struct WireExample : testing::Test {
  WireExample() {
    const std::vector<uint8_t> bytes = Count(0, kKeySize);
    std::copy(bytes.begin(), bytes.end(), secret.bytes);
    nonce[13] = 0x00;
    nonce[14] = 0x95;
    nonce[15] = 0x2a;
    EXPECT_EQ(ModelDigest(kModel, digest), Status::kOk);
    EXPECT_EQ(DeriveTlsKey(secret, &psk), Status::kOk);
    EXPECT_EQ(DeriveRoundKey(secret, {View(job), View(name), 2, 0, View(nonce)}, &round_key),
              Status::kOk);
    encoded = Encode(kFixed);
  }

  //   clip_bit  the extra coordinate; 0: none
  std::vector<uint8_t> Encode(const UpdateFormat& format, int32_t clip_bit = 0) {
    ExtraCoordinates extras;
    if (clip_bit != 0) extras.Add(clip_bit);
    EXPECT_EQ(encoder.Begin(round_key, format, kUpdate, kClip, kUnit, extras), Status::kOk);
    std::vector<uint8_t> bytes(MaxUpdateSize(kSize + extras.count(), format));
    size_t written = 0;
    EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
    bytes.resize(written);
    return bytes;
  }

  static std::vector<DitherCell> Cells(const Dither& dither) {
    std::vector<DitherCell> cells(kSize);
    EXPECT_EQ(GenerateCells(dither, 0, {cells.data(), kSize}), Status::kOk);
    return cells;
  }

  static std::string Page() {
    std::ifstream file(SOTTO_SOURCE_DIR "/server/PROTOCOL.md");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void ExpectOnPage(const std::string& text) {
    EXPECT_NE(Page().find("```text\n" + text + "```\n"), std::string::npos)
        << "server/PROTOCOL.md must have the block:\n"
        << text;
  }

  uint64_t Word(uint32_t stream, uint32_t j) const {
    uint8_t keystream[8 * kSize];
    EXPECT_EQ(ChaCha20Keystream(round_key, stream, 0, keystream), Status::kOk);
    return LoadU64Le(keystream + 8 * j);
  }

  // p of coordinate j, with its extension.
  lrq::LayerEdges Layer(uint32_t j, std::string* p96) const {
    const uint64_t word = Word(0, j);
    const auto high = static_cast<uint32_t>(word >> 31);
    const bool is_extended = high >> 24 == 0x00 || high >> 24 == 0xff;
    const uint64_t extension = is_extended ? Word(1, j) >> 4 : uint64_t{1} << 59;
    const uint64_t low = word >> 27 << 60 | extension;
    *p96 = Hex64(high).substr(8) + Hex64(low);
    return lrq::LayerFromProbability(high, low);
  }

  std::vector<int32_t> Decode(const UpdateFormat& format, const std::vector<uint8_t>& bytes) {
    std::vector<int32_t> noisy(kSize);
    EXPECT_EQ(DecodeUpdate(round_key, format, View(bytes), {noisy.data(), kSize}), Status::kOk);
    return noisy;
  }

  Reply Train(const UpdateFormat& format, uint32_t clip_bit = 0) const {
    Reply train = Answers(Reply::Kind::kTrain);
    train.task.clip_bit_q20 = clip_bit;
    std::copy(job.begin(), job.end(), train.task.job_id);
    train.task.round = 2;
    train.task.format = format;
    train.task.quantizer_scale = kUnit;
    train.task.training = {5, 10, 0.1f, 0.0f, kClip, Clipping::kAtEnd};
    train.max_frame = 4096;
    return train;
  }

  // The frames of an upload in one piece.
  std::string Upload(const UpdateFormat& format) { return Upload(format.coding, Encode(format)); }

  std::string Upload(Coding coding, const std::vector<uint8_t>& update,
                     uint32_t clip_bit = 0) const {
    Request begin = Asks(Request::Kind::kUpdateBegin);
    begin.job_id = View(job);
    begin.round = 2;
    begin.nonce = View(nonce);
    begin.coding = coding;
    begin.clip_bit_q20 = clip_bit;
    Request bytes = Asks(Request::Kind::kUpdateChunk);
    bytes.bytes = View(update);
    bytes.last = true;
    Reply complete = Answers(Reply::Kind::kAck);
    complete.offset = static_cast<uint32_t>(update.size());
    complete.complete = true;
    return FrameLine("UpdateBegin", begin) + FrameLine("Ack", Answers(Reply::Kind::kAck)) +
           FrameLine("UpdateChunk", bytes) + FrameLine("Ack", complete);
  }

  const std::string name = "board-01";
  const std::vector<uint8_t> job = Count(0xa0, kJobIdSize);
  std::vector<uint8_t> nonce = Count(0xb0, kNonceSize);
  Key secret;
  Key psk;
  Key round_key;
  uint8_t digest[kSha256Size] = {};
  UpdateEncoder encoder;
  std::vector<uint8_t> encoded;
};

TEST_F(WireExample, KeysAreThoseOfThePage) {
  ExpectOnPage(Line("device id", name) + Line("secret", secret.bytes) + Line("job id", View(job)) +
               Line("round", "2") + Line("attempt", "0") + Line("nonce", View(nonce)) +
               Line("PSK", psk.bytes) + Line("round key", round_key.bytes) +
               Line("model digest", digest));
}

TEST_F(WireExample, ASaltAndItsKeyAreThoseOfThePage) {
  const std::vector<uint8_t> salt = Count(0xc0, kSaltSize);
  Key key;
  ASSERT_EQ(DeriveRoundKey(secret, {View(job), View(name), 2, 0, View(nonce), View(salt)}, &key),
            Status::kOk);
  ExpectOnPage(Line("salt", View(salt)) + Line("salted key", key.bytes));
  Reply ack = Answers(Reply::Kind::kAck);
  ack.salt.is_there = true;
  std::copy(salt.begin(), salt.end(), ack.salt.bytes);
  ExpectOnPage(FrameLine("Ack", ack));
}

TEST_F(WireExample, CellsAndCodesAreThoseOfThePage) {
  const Dither dither(round_key, DitherKind::kGaussian);
  const std::vector<DitherCell> cells = Cells(dither);
  const std::vector<int32_t> noisy = Decode(kFixed, encoded);
  std::string words = "j   word j of n = 0   of n = 1          of n = 2\n";
  std::string layers = "j  p96                               r          g\n";
  std::string table = "j          w           L          s         v   m  m_min  code      noisy\n";
  for (uint32_t j = 0; j < kSize; ++j) {
    int32_t s = 0;
    int32_t m = 0;
    int32_t smallest = 0;
    const int32_t v = ScaleToQ20(kUpdate[j], encoder.scale());
    ASSERT_EQ(dither.ExactOffset(j, cells[j], &s), Status::kOk);
    ASSERT_EQ(Quantize(dither, j, cells[j], v, &m), Status::kOk);
    ASSERT_EQ(Quantize(dither, j, cells[j], -lrq::ScaleBoundQ20(encoded[0]), &smallest),
              Status::kOk);
    words += std::to_string(j) + "   " + Hex64(Word(0, j)) + "  " + Hex64(Word(1, j)) + "  " +
             Hex64(Word(2, j)) + "\n";
    std::string p96;
    const lrq::LayerEdges edges = Layer(j, &p96);
    layers +=
        std::to_string(j) + "  " + p96 + Column(edges.r_q27, 11) + Column(edges.g_q27, 11) + "\n";
    table += std::to_string(j) + Column(cells[j].step_q27, 11) + Column(cells[j].left_q27, 12) +
             Column(s, 11) + Column(v, 10) + Column(m, 4) + Column(smallest, 7) +
             Column(m - smallest, 6) + Column(noisy[j], 11) + "\n";
  }
  ExpectOnPage(words);
  ExpectOnPage(layers);
  ExpectOnPage(table);
  ExpectOnPage(Line("scale code", std::to_string(encoded[0])) +
               Line("A", std::to_string(lrq::ScaleBoundQ20(encoded[0]))) +
               Line("bits", std::to_string(lrq::FixedCodeBits(encoded[0], DitherKind::kGaussian))) +
               Line("update", View(encoded)));
}

TEST_F(WireExample, TheRangeCodeIsThatOfThePageAndSaysTheSame) {
  const std::vector<uint8_t> bytes = Encode(kRange);
  ExpectOnPage(Line("scale code", std::to_string(bytes[0])) + Line("update", View(bytes)));
  EXPECT_EQ(Decode(kRange, bytes), Decode(kFixed, encoded));
}

// The example is worth its place only if an implementation that leaves a rule out differs.
TEST_F(WireExample, TheExampleNeedsBothExtensionsAtBothEndsAndAnEscape) {
  const Dither dither(round_key, DitherKind::kGaussian);
  const std::vector<DitherCell> cells = Cells(dither);
  const std::vector<int32_t> noisy = Decode(kFixed, encoded);
  int lower = 0;
  int upper = 0;
  int offsets = 0;
  int escapes = 0;
  for (uint32_t j = 0; j < kSize; ++j) {
    const auto top = static_cast<uint8_t>(Word(0, j) >> 55);
    lower += top == 0x00;
    upper += top == 0xff;
    int32_t m = 0;
    ASSERT_EQ(Quantize(dither, j, cells[j], ScaleToQ20(kUpdate[j], encoder.scale()), &m),
              Status::kOk);
    escapes += m > 8 || m < -8;
    const int64_t rough = int64_t{m} * cells[j].step_q27 + cells[j].offset_q27 + cells[j].left_q27;
    offsets += (rough + 63) >> 7 != noisy[j];
  }
  EXPECT_GE(lower, 1);
  EXPECT_GE(upper, 1);
  EXPECT_GE(offsets, 1);
  EXPECT_EQ(escapes, 1);
}

TEST_F(WireExample, FramesOfTheDownloadAreThoseOfThePage) {
  Request hello = Asks(Request::Kind::kHello);
  hello.device_id = View(name);
  hello.model_digest = digest;
  uint8_t model[4 * kSize];
  for (uint32_t j = 0; j < kSize; ++j) StoreU32Le(FloatBits(kBase[j]), model + 4 * j);
  Reply chunk = Answers(Reply::Kind::kModelChunk);
  chunk.bytes = model;
  ExpectOnPage(FrameLine("Hello", hello) + FrameLine("Train", Train(kFixed)) +
               FrameLine("GetModel", Asks(Request::Kind::kGetModel)) + FrameLine("Chunk", chunk));
}

TEST_F(WireExample, FramesOfTheUploadAreThoseOfThePage) { ExpectOnPage(Upload(kFixed)); }

TEST_F(WireExample, FramesUnderTheRangeCodeAreThoseOfThePage) {
  ExpectOnPage(FrameLine("Train", Train(kRange)) + Upload(kRange));
}

TEST_F(WireExample, InputsAreThoseOfThePageBitForBit) {
  std::string text;
  for (const auto& [title, values] :
       {std::pair<const char*, const float*>{"model", kBase}, {"update", kUpdate}}) {
    uint8_t bytes[4 * kSize];
    for (uint32_t j = 0; j < kSize; ++j) StoreU32Le(FloatBits(values[j]), bytes + 4 * j);
    text += Line(title, bytes);
  }
  for (const auto& [title, value] :
       {std::pair<const char*, float>{"scale", kUnit}, {"clip_l2", kClip}, {"rate", 0.1f}}) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(value), bytes);
    text += Line(title, bytes);
  }
  ExpectOnPage(text);
}

// The training was clipped, so the bit's coordinate is negative.
TEST_F(WireExample, FramesWithAClipBitAreThoseOfThePage) {
  constexpr int32_t kBit = 1 << 20;
  const std::vector<uint8_t> update = Encode(kFixed, -kBit);
  ExpectOnPage(FrameLine("Train", Train(kFixed, kBit)) + Upload(Coding::kFixed, update, kBit));
  std::vector<int32_t> noisy(kSize + 1);
  EXPECT_EQ(DecodeUpdate(round_key, kFixed, View(update), {noisy.data(), noisy.size()}),
            Status::kOk);
  std::string line = "noisy";
  for (const int32_t value : noisy) line += " " + std::to_string(value);
  ExpectOnPage(line + "\n");
}

TEST_F(WireExample, FramesUnderUniformDitherAreThoseOfThePage) {
  constexpr UpdateFormat kUniform = {Coding::kFixed, DitherKind::kUniform, 0};
  ExpectOnPage(FrameLine("Train", Train(kUniform)) + Upload(kUniform));
  std::string line = "noisy";
  for (const int32_t value : Decode(kUniform, Encode(kUniform))) {
    line += " " + std::to_string(value);
  }
  ExpectOnPage(line + "\n");
}

TEST_F(WireExample, FramesOfAnUpdateWithoutPrivacyAreThoseOfThePage) {
  constexpr UpdateFormat kExact = {Coding::kFloat32, DitherKind::kUniform, 0};
  std::vector<uint8_t> update(4 * kSize);
  for (uint32_t j = 0; j < kSize; ++j) StoreU32Le(FloatBits(kUpdate[j]), &update[4 * j]);
  ExpectOnPage(FrameLine("Train", Train(kExact)) + Upload(Coding::kFloat32, update));
}

TEST_F(WireExample, FramesWithALengthAndAReportTimeAreThoseOfThePage) {
  constexpr UpdateFormat kOneLength = {Coding::kRange, DitherKind::kGaussian, 0, 12};
  Reply train = Train(kOneLength);
  train.report_ms = 60000;
  ExpectOnPage(FrameLine("Train", train) + Upload(kOneLength));
  EXPECT_EQ(Decode(kOneLength, Encode(kOneLength)), Decode(kFixed, encoded));
}

// What the device of the page holds; kBase lies on the grid of 2^-4.
constexpr float kHeld[kSize] = {0.4f, -0.53125f, 0.25f, -0.3f, 0.01f, -3.1f};
constexpr int kGridExponent = -4;

std::vector<uint8_t> CheckOf(Span<const float> model) {
  uint8_t check[kModelCheckSize] = {};
  EXPECT_EQ(ModelCheck(model, check), Status::kOk);
  return {std::begin(check), std::end(check)};
}

std::vector<uint8_t> CodeOfTheDifference() {
  std::vector<uint8_t> code(MaxDifferenceBytes(kSize));
  size_t size = 0;
  EXPECT_EQ(EncodeDifference(kHeld, kBase, kGridExponent, {code.data(), code.size()}, &size),
            Status::kOk);
  code.resize(size);
  return code;
}

TEST_F(WireExample, TheDifferenceIsThatOfThePage) {
  SlowRangeEncoder slow;
  std::string table = "j     n    base     d  decisions                  low     range\n";
  for (uint32_t j = 0; j < kSize; ++j) {
    const int32_t n = NearestGridUnits(kBase[j], kGridExponent);
    const int32_t base = NearestGridUnits(kHeld[j], kGridExponent);
    slow.decisions.clear();
    slow.Add(n - base);
    const std::string low = ToHex(View(slow.low));
    std::string line = std::to_string(j) + Column(n, 6) + Column(base, 8) + Column(n - base, 6) +
                       "  " + slow.decisions;
    line += std::string(line.size() + low.size() < 52 ? 52 - line.size() - low.size() : 1, ' ');
    uint8_t range[4];
    for (int i = 0; i < 4; ++i) range[i] = static_cast<uint8_t>(slow.range >> (24 - 8 * i));
    table += line + low + "  " + ToHex(range) + "\n";
  }
  ExpectOnPage(table);
  const std::vector<uint8_t> code = CodeOfTheDifference();
  uint8_t held[4 * kSize];
  for (uint32_t j = 0; j < kSize; ++j) StoreU32Le(FloatBits(kHeld[j]), held + 4 * j);
  ExpectOnPage(Line("held", held) + Line("its check", View(CheckOf(kHeld))) +
               Line("check", View(CheckOf(kBase))) + Line("code", View(code)));
}

TEST_F(WireExample, FramesOfADifferenceAndOfAReleaseAreThoseOfThePage) {
  const std::vector<uint8_t> held = CheckOf(kHeld);
  const std::vector<uint8_t> check = CheckOf(kBase);
  const std::vector<uint8_t> code = CodeOfTheDifference();
  Request hello = Asks(Request::Kind::kHello);
  hello.device_id = View(name);
  hello.model_digest = digest;
  hello.abilities.features = kFeatureDifferences;
  hello.held = View(held);
  Reply train = Train(kFixed);
  train.server_features = kServerRemembersHello;
  train.model = {View(check), kGridOffset + kGridExponent, ModelBase::kHeld, {}, 512, 0x01020304};
  Request get = Asks(Request::Kind::kGetModel);
  get.code = 0x01020304;
  Reply chunk = Answers(Reply::Kind::kModelChunk);
  std::vector<uint8_t> part = code;
  part.resize(12);
  chunk.bytes = View(part);
  Request later = Asks(Request::Kind::kHello);
  later.version = later.max_frame = 0;
  later.hold_ms = 25000;
  later.held = View(check);
  Request ask = Asks(Request::Kind::kGetRelease);
  ask.held = View(check);
  Reply release = Answers(Reply::Kind::kRelease);
  release.model = {View(check), kGridOffset + kGridExponent, ModelBase::kHeld, {}, 0, 0};
  release.job_id = View(job);
  release.rounds = 2;
  release.final = true;
  const uint8_t claims[] = {'n', 'o', 'n', 'e'};
  release.claims = claims;
  ExpectOnPage(FrameLine("Hello", hello) + FrameLine("Train", train) + FrameLine("GetModel", get) +
               FrameLine("Chunk", chunk));
  ExpectOnPage(FrameLine("Hello", later) + FrameLine("GetRelease", ask) +
               FrameLine("Release", release));
}

// Section 7.2, a row of the table.
std::string InitialModelLine(const char* model_name) {
  const ModelInfo& model = *FindModel(model_name);
  Key key;
  for (size_t i = 0; i < sizeof(key.bytes); ++i) key.bytes[i] = static_cast<uint8_t>(i);
  std::vector<float> parameters(model.parameters);
  EXPECT_EQ(InitialWeights(model, key, {parameters.data(), parameters.size()}), Status::kOk);
  uint8_t check[kModelCheckSize];
  EXPECT_EQ(ModelCheck({parameters.data(), parameters.size()}, check), Status::kOk);
  char line[128];
  std::snprintf(line, sizeof(line), "%-15s %10zu   %08x %08x   ", model_name, parameters.size(),
                FloatBits(parameters[0]), FloatBits(parameters[1]));
  return line + ToHex(check) + "\n";
}

TEST_F(WireExample, InitialModelsAreThoseOfThePage) {
  ExpectOnPage(InitialModelLine("small-cnn") + InitialModelLine("char-lstm-small"));
}

TEST_F(WireExample, FramesOfTheOtherRepliesAreThoseOfThePage) {
  Reply wait = Answers(Reply::Kind::kWait);
  wait.wait_ms = 1000;
  Reply busy = Answers(Reply::Kind::kError);
  busy.code = ErrorCode::kBusy;
  busy.wait_ms = 1000;
  Reply mismatch = Answers(Reply::Kind::kError);
  mismatch.code = ErrorCode::kModelMismatch;
  mismatch.final = true;
  const uint8_t kName[] = {'l', 'e', 'n', 'e', 't'};
  mismatch.bytes = kName;
  ExpectOnPage(FrameLine("Wait", wait) + FrameLine("Error", busy) + FrameLine("Error", mismatch) +
               FrameLine("Done", Answers(Reply::Kind::kDone)));
}

}  // namespace
}  // namespace sotto
