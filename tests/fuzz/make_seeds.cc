// usage: make_seeds FOLDER
// Writes a small corpus for each fuzz target into FOLDER/TARGET: valid updates, frames and files,
// in the layouts that the targets' first lines describe. The same bytes every time.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "sotto/bytes.h"
#include "sotto/frame_listener.h"
#include "sotto/model_difference.h"
#include "sotto/peer_wire.h"
#include "sotto/publication.h"
#include "sotto/random.h"
#include "sotto/shard.h"
#include "sotto/update_codec.h"
#include "sotto/wire.h"

namespace sotto::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes U16(uint32_t x) { return {static_cast<uint8_t>(x), static_cast<uint8_t>(x >> 8)}; }

Bytes BigEndian(uint32_t x) {
  return {static_cast<uint8_t>(x >> 24), static_cast<uint8_t>(x >> 16),
          static_cast<uint8_t>(x >> 8), static_cast<uint8_t>(x)};
}

Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

Bytes Layout(const UpdateFormat& format) {
  return Bytes{static_cast<uint8_t>(format.coding), static_cast<uint8_t>(format.dither)} +
         U16(format.padding);
}

class Corpus {
 public:
  Corpus(const std::string& folder, const std::string& target)
      : folder_(std::filesystem::path(folder) / target) {
    std::filesystem::create_directories(folder_);
  }

  void Add(const Bytes& input) {
    std::ofstream file(folder_ / ("seed-" + std::to_string(count_++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
    file.close();
    Require(file.good(), "the corpus can be written");
  }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
};

// Values of the deviation `scale`, with a few that are ten times as large.
std::vector<float> Update(uint32_t coordinates, float scale) {
  RandomStream random(Key(), coordinates);
  std::vector<float> update;
  for (uint32_t j = 0; j < coordinates; ++j) {
    const float uniform = static_cast<float>(random.Below(2001)) / 1000.0F - 1.0F;
    update.push_back(uniform * scale * (j % 16 == 0 ? 10.0F : 1.0F));
  }
  return update;
}

Bytes Encode(const std::vector<float>& update, const UpdateFormat& format) {
  UpdateEncoder encoder;
  const Span<const float> values(update.data(), update.size());
  Require(encoder.Begin(Key(), format, values, 512.0F, 1.0F) == Status::kOk, "updates encode");
  Bytes bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()), format));
  size_t size = 0;
  Require(encoder.Read({bytes.data(), bytes.size()}, &size) == Status::kOk && encoder.is_done(),
          "updates encode whole");
  bytes.resize(size);
  return bytes;
}

Bytes Raw(const std::vector<float>& update) {
  Bytes bytes(4 * update.size());
  for (size_t j = 0; j < update.size(); ++j) {
    StoreU32Le(FloatBits(update[j]), bytes.data() + 4 * j);
  }
  return bytes;
}

void AddUpdates(Corpus& decoder, Corpus& round_trip, Corpus& range_coder) {
  for (const Coding coding : {Coding::kRange, Coding::kFixed}) {
    for (const DitherKind dither : {DitherKind::kGaussian, DitherKind::kUniform}) {
      for (const float scale : {0.0F, 0.01F, 1.0F, 20.0F}) {
        const UpdateFormat format = {coding, dither, scale == 1.0F ? 64U : 0U};
        const std::vector<float> update = Update(40, scale);
        const Bytes encoded = Encode(update, format);
        decoder.Add(Layout(format) + U16(39) + encoded);
        // Reads of 9 bytes; clip_l2 = 2^9, quantizer_scale = 1 by exponents; again from byte 5;
        // with and without an extra coordinate.
        const Bytes begin = Layout(format) + Bytes{8, 136, 127} + U16(5);
        round_trip.Add(begin + Bytes(4) + Raw(update));
        round_trip.Add(begin + Bytes{0, 0, 24, 0} + Raw(update));
        // clip_l2 = 2^24, quantizer_scale = 2^9: a sum of squares beyond 64 bits.
        round_trip.Add(Layout(format) + Bytes{8, 151, 136, 5, 0, 0, 0, 0, 0} +
                       Raw(std::vector<float>(400, 400000.0F)));
        range_coder.Add(U16(300) + encoded);
      }
    }
  }
}

void AddDifferences(Corpus& corpus) {
  for (const float spread : {0.01F, 1.0F, 3000.0F}) {
    const std::vector<float> held = Update(40, spread);
    std::vector<float> wanted = Update(40, spread);
    for (float& x : wanted) x = GridParameter(NearestGridUnits(2.0F * x, -6), -6);
    Bytes code(MaxDifferenceBytes(40));
    size_t size = 0;
    Require(EncodeDifference({held.data(), 40}, {wanted.data(), 40}, -6, {code.data(), code.size()},
                             &size) == Status::kOk,
            "differences encode");
    code.resize(size);
    corpus.Add(Bytes{6, 40, 16} + Raw(held) + code);
  }
}

Bytes Frame(const Request& request) {
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  Require(EncodeRequest(request, kMaxMaxFrame, {frame.data(), frame.size()}, &size) == Status::kOk,
          "requests encode");
  frame.resize(size);
  return frame;
}

Bytes Frame(const Reply& reply) {
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  Require(EncodeReply(reply, kMaxMaxFrame, {frame.data(), frame.size()}, &size) == Status::kOk,
          "replies encode");
  frame.resize(size);
  return frame;
}

// A connection of frames of 20 bytes, both sides' frames in the order in which they are sent.
void AddFrames(Corpus& corpus) {
  const FrameLinkConfig config;
  Bytes memory[2] = {Bytes(FrameLinkBytes(config.max_frame, config.window)),
                     Bytes(FrameLinkBytes(config.max_frame, config.window))};
  FrameLink device(config, {memory[0].data(), memory[0].size()});
  FrameLink other(config, {memory[1].data(), memory[1].size()});
  FrameListener listener(&other, 7);
  Require(listener.Start() == Status::kOk && device.Open(0x01020304, 0) == Status::kOk,
          "links open");
  Bytes all = {4, 0};
  const auto move = [&](auto& from, auto& to) {
    uint8_t frame[kLargestFrame];
    while (const size_t size = from.NextFrame(0, frame)) {
      all = all + Bytes{static_cast<uint8_t>(size)} + Bytes(frame, frame + size);
      (void)to.OnFrame({frame, size}, 0);
    }
  };
  for (int turn = 0; turn < 6; ++turn) {
    uint8_t bytes[60] = {};
    (void)device.Send(bytes, sizeof(bytes));
    move(device, listener);
    (void)other.Receive(bytes, sizeof(bytes));
    (void)other.Send(bytes, sizeof(bytes));
    move(listener, device);
    (void)device.Receive(bytes, sizeof(bytes));
  }
  corpus.Add(all);
}

constexpr uint8_t kBytes[32] = {1, 2, 3, 4, 5, 6, 7, 8};

std::vector<Request> Requests() {
  static constexpr uint8_t kName[] = {'p', 'i', '-', '7'};
  std::vector<Request> requests(7);
  requests[0].kind = Request::Kind::kHello;
  requests[0].device_id = kName;
  requests[0].model_digest = kBytes;
  requests[0].receipt = kBytes;
  requests[0].abilities = {16, kFeatureMomentum | kFeatureStays};
  requests[0].differs = kBytes;
  requests[1].kind = Request::Kind::kGetModel;
  requests[1].offset = 4096;
  requests[2].kind = Request::Kind::kUpdateBegin;
  requests[2].round = 3;
  requests[2].attempt = 1;
  requests[2].job_id = ByteSpan(kBytes).first(kJobIdSize);
  requests[2].nonce = ByteSpan(kBytes).first(kNonceSize);
  requests[2].clip_bit_q20 = 1 << 20;
  requests[3].kind = Request::Kind::kUpdateChunk;
  requests[3].offset = 20;
  requests[3].bytes = kBytes;
  requests[3].last = true;
  requests[4].kind = Request::Kind::kGetDescription;
  requests[4].offset = 4000;
  requests[5].kind = Request::Kind::kHello;  // a short one
  requests[5].version = requests[5].max_frame = 0;
  requests[5].hold_ms = 25000;
  requests[5].held = ByteSpan(kBytes).first(kModelCheckSize);
  requests[6].kind = Request::Kind::kGetRelease;
  requests[6].held = ByteSpan(kBytes).first(kModelCheckSize);
  requests[6].model_digest = kBytes;
  return requests;
}

std::vector<Reply> Replies() {
  const ModelOffer offer = {ByteSpan(kBytes).first(kModelCheckSize),
                            kGridOffset - 8,
                            ModelBase::kInitial,
                            kBytes,
                            512,
                            7};
  std::vector<Reply> replies(9);
  replies[0].kind = Reply::Kind::kWait;
  replies[0].wait_ms = 1000;
  replies[0].state = WaitState::kNoJob;
  replies[0].server_features = kServerRemembersHello | kServerNamesReleases;
  replies[0].release = 1 << 20;
  replies[1].kind = Reply::Kind::kTrain;
  replies[1].task.quantizer_scale = 0.25F;
  replies[1].task.round = 7;
  replies[1].task.clip_bit_q20 = 1 << 20;
  replies[1].task.training.momentum = 0.5F;
  replies[1].task.training.local_steps = 20;
  replies[1].task.training.batches = Batches::kWithReplacement;
  replies[1].task.training.rate_first = 41;
  replies[1].task.training.rate_power = RatePower::kHalf;
  replies[1].task.training.gradient_clip = 1;
  replies[1].task.training.gradient_clip_of = GradientClipOf::kSample;
  replies[1].task.training.proximal = 0.1F;
  replies[1].task.training.clip_by_layer = ClipByLayer::kSize;
  replies[1].receipt = kBytes;
  replies[1].report_ms = 60000;
  replies[1].task.format.length = 128;
  replies[1].model = offer;
  replies[2].kind = Reply::Kind::kDone;
  replies[3].kind = Reply::Kind::kModelChunk;
  replies[3].bytes = kBytes;
  replies[4].kind = Reply::Kind::kAck;
  replies[4].offset = 52;
  replies[4].complete = true;
  replies[5].kind = Reply::Kind::kError;
  replies[5].code = ErrorCode::kBusy;
  replies[5].wait_ms = 50;
  replies[6].kind = Reply::Kind::kError;
  replies[6].code = ErrorCode::kModelMismatch;
  replies[6].bytes = kBytes;
  replies[7].kind = Reply::Kind::kDescriptionChunk;
  replies[7].bytes = kBytes;
  replies[7].size = 1000;
  replies[8].kind = Reply::Kind::kRelease;
  replies[8].model = offer;
  replies[8].job_id = ByteSpan(kBytes).first(kJobIdSize);
  replies[8].rounds = 40;
  replies[8].final = true;
  replies[8].claims = kBytes;
  return replies;
}

void AddPackets(Corpus& corpus) {
  Bytes all;
  for (const Request& request : Requests()) {
    corpus.Add(Bytes{0, 6} + Frame(request));
    all = all + Frame(request);
  }
  for (const Reply& reply : Replies()) {
    corpus.Add(Bytes{4, 255} + Frame(reply));
    all = all + Frame(reply);
  }
  corpus.Add(Bytes{30, 2} + all);
}

Bytes Npy(const std::string& descr, const std::string& order, const std::string& shape,
          const Bytes& content) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return Bytes{0x93} + Text("NUMPY") + Bytes{1, 0} + U16(118) + Text(header + "\n") + content;
}

void AddDatasets(Corpus& corpus) {
  corpus.Add(Bytes{0} + Text("a,b,label\n1,?,walk\n-2.5e1,\"3\",\"sit \"\"\"\r\n"));
  corpus.Add(Bytes{1} + Text("1,2\n3,x\n4,5\n6,7\n8,9\n"));
  corpus.Add(Bytes{2} + Text("0.5\tann\t1\n0.25\tbob\t2\n"));
  corpus.Add(Bytes{3} + Npy("<f4", "False", "(2, 3)", Bytes(24)));
  corpus.Add(Bytes{3} + Npy(">f8", "True", "(2, 1, 2)", Bytes(32)));
  corpus.Add(Bytes{3} + Npy("|u1", "False", "(3, 2, 2)", Bytes(12, 7)));
  corpus.Add(Bytes{5} + Text("-1 1:0.5 4:2 # x\n+1 qid:3 2:-1e-1\n"));
  corpus.Add(Bytes{6} + Text("0 0:1 8:nan\n2 3:4\n"));
  corpus.Add(Bytes{7} + Bytes(3073, 9));
  const std::string play = "ANN:\nhello there\nbob\n\nBOB:\nabc abc\n";
  corpus.Add(Bytes{8} + Text(play));
  corpus.Add(Bytes{9} + Text("A:\nabcabcabc"));
  corpus.Add(Bytes{10} + Text("{\"x\":[[1,2],[3,-4e1]],\"label\":\"a\"}\n"
                              "{\"label\":\"b\",\"x\":[[0.5,true],[null,1]]}\n"));
  corpus.Add(Bytes{11} + Text("{\"p\":{\"q\":1}}\n{\"p\":{\"q\":\"x\"}}\n{\"p\":{}}\n"));
  corpus.Add(Bytes{12} + Text("{\"a\":\"u\",\"b\":7,\"c\":1,\"d\":2}\n{\"b\":8,\"c\":0}\n"));
  corpus.Add(Bytes{13} +
             Text("{\"users\":[\"u\",\"v\"],\"num_samples\":[1,1],\"user_data\":{\"u\":{"
                  "\"x\":[[1,2]],\"y\":[0]},\"v\":{\"y\":[1],\"x\":[[3,4]]}}}"));
  corpus.Add(Bytes{14} +
             Text("{\"user_data\":{\"u\":{\"x\":[\"ab\",\"bc\"],\"y\":[\"c\",\"a\"]}}}"));
}

// A shard of two samples for each model of files.cc.
void AddShard(Corpus& corpus, ShardElement element, uint32_t tokens, uint32_t classes,
              uint32_t targets) {
  ShardInfo info;
  info.element = element;
  info.shape = nn::ShapeOf(3, 1);
  info.tokens = tokens;
  info.classes = classes;
  info.targets = targets;
  info.count = 2;
  const Bytes samples(2 * static_cast<size_t>(info.SampleBytes()), 1);
  uint8_t head[kShardHeadSize];
  Require(MakeShardHead(info, {samples.data(), samples.size()}, head) == Status::kOk,
          "shards are made");
  corpus.Add(Bytes{3} + Bytes(head, head + sizeof(head)) + samples);
}

void AddFiles(Corpus& corpus) {
  AddShard(corpus, ShardElement::kByte, 0, 2, 0);
  AddShard(corpus, ShardElement::kFloat32, 0, 300, 0);
  AddShard(corpus, ShardElement::kByte, 5, 2, 0);
  AddShard(corpus, ShardElement::kFloat32, 0, 0, 2);
  AddShard(corpus, ShardElement::kFloat32, 0, 0, 0);
  const std::string secret(64, 'c');
  corpus.Add(Bytes{0} + Text("sotto-key 1\ndevice pi-7\nsecret " + secret + "\n"));
  const Bytes pixels(2 * 3 * 4, 9);
  corpus.Add(Bytes{1} + BigEndian(0x803) + BigEndian(2) + BigEndian(3) + BigEndian(4) + pixels);
  corpus.Add(Bytes{2} + BigEndian(0x801) + BigEndian(5) + Bytes{1, 2, 3, 4, 5});
  // The same five labels, compressed by gzip.
  corpus.Add(Bytes{2} + Bytes{0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63,
                              0x60, 0xe0, 0x60, 0x64, 0x60, 0x60, 0x60, 0x65, 0x64, 0x62, 0x66,
                              0x61, 0x05, 0x00, 0xa3, 0x33, 0x91, 0x8b, 0x0d, 0x00, 0x00, 0x00});
}

// One of each kind of message, with all fields that it has.
void AddPeerMessages(Corpus& corpus) {
  static const Bytes bytes(kSha256Size, 5);
  static const std::string address = "10.0.0.7:7179";
  const ByteSpan view(bytes.data(), bytes.size());
  const ByteSpan text(reinterpret_cast<const uint8_t*>(address.data()), address.size());
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  const auto add = [&](uint8_t which, Status status) {
    Require(status == Status::kOk, "messages encode");
    corpus.Add(Bytes{which, 0} + Bytes(frame.begin() + kFrameHeaderSize,
                                       frame.begin() + static_cast<std::ptrdiff_t>(size)));
  };
  const MutableByteSpan out(frame.data(), frame.size());
  for (int kind = 1; kind <= static_cast<int>(PeerRequest::Kind::kGreet); ++kind) {
    PeerRequest request;
    request.kind = static_cast<PeerRequest::Kind>(kind);
    request.job_id = view.first(kJobIdSize);
    request.address = text;
    request.publication.version = 3;
    request.publication.size = 100;
    request.bytes = request.previous = view;
    request.step = request.fence = request.node = 7;
    add(0, EncodePeerRequest(request, kMaxMaxFrame, out, &size));
  }
  for (int kind = 0; kind <= static_cast<int>(PeerReply::Kind::kError); ++kind) {
    PeerReply reply;
    reply.kind = static_cast<PeerReply::Kind>(kind);
    reply.nodes = 4;
    reply.head.version = 3;
    reply.parent.version = 2;
    reply.head.size = reply.parent.size = 100;
    reply.bytes = view;
    reply.address = text;
    reply.device_id = text.first(6);
    add(1, EncodePeerReply(reply, kMaxMaxFrame, out, &size));
  }
}

// Raw and in range code, with and without a shift.
void AddPublications(Corpus& corpus) {
  RandomStream random(Key(), 77);
  for (const uint32_t shift : {0U, 6U, 20U}) {
    for (const uint32_t below : {1U, 4U, 8U}) {
      std::vector<float> parameters;
      for (int i = 0; i < 40; ++i) {
        const auto units = static_cast<int32_t>(random.Below(below) << shift);
        parameters.push_back(PublishedParameter(i % 2 == 0 ? units : -units));
      }
      PublicationHeader header;
      header.version = 1;
      header.shift = shift;
      Bytes bytes(MaxPublicationBytes(parameters.size()));
      size_t size = 0;
      Require(EncodePublication(header, {parameters.data(), parameters.size()},
                                {bytes.data(), bytes.size()}, &size) == Status::kOk,
              "publications encode");
      bytes.resize(size);
      corpus.Add(Bytes{2, 40} + bytes);
    }
  }
}

// Each check and sampling: deltas of about 5e-8 and 2e-3, order 9, up to 12 rows of noise
// multipliers about 1, rates about 0.01 and 44 rounds.
void AddPlans(Corpus& corpus) {
  uint8_t check = 0;
  for (uint8_t sampling = 0; sampling < 3; ++sampling) {
    for (const uint8_t rows : {uint8_t{1}, uint8_t{3}, uint8_t{12}}) {
      Bytes input = Bytes{check++} + U16(32000) + U16(32500) + U16(43000) +
                    Bytes{static_cast<uint8_t>(rows - 1)};
      for (uint32_t row = 0; row < rows; ++row) {
        input = input + Bytes{sampling} + U16(28000 + 100 * row) + U16(52000) + U16(12000);
      }
      corpus.Add(input);
    }
  }
}

// A bundle of the text, with files of so many numbers.
Bytes Bundle(const std::string& text, const std::vector<uint32_t>& files) {
  const auto little = [](size_t x) {
    return U16(static_cast<uint32_t>(x) & 0xffff) + U16(static_cast<uint32_t>(x) >> 16);
  };
  Bytes bundle = Text("sotto-model 1\n") + Bytes(2) + little(text.size()) + little(files.size());
  size_t numbers = 0;
  for (const uint32_t count : files) {
    bundle = bundle + little(count);
    numbers += count;
  }
  return bundle + Text(text) + Bytes(4 * numbers, 1);
}

// Nets with all kinds of keys, as texts and as bundles.
void AddModels(Corpus& corpus) {
  for (const std::string& text :
       {std::string("name = \"a\"\ninput = [8, 8, 2]\n[[layer]]\nkind = \"conv2d\"\noutputs = 4\n"
                    "kernel = 3\nstride = 2\npadding = 1\n[[layer]]\nkind = \"group-norm\"\n"
                    "groups = 2\n[[layer]]\nkind = \"max-pool2d\"\nsize = 2\n[[layer]]\n"
                    "kind = \"dense\"\noutputs = 3\n"),
        std::string("name = \"p\"\ninput = [4, 5, 2]\nmissing = 0.5\nclasses = [\"a\", 'b']\n"
                    "[[prepare]]\nkind = \"normalise\"\nmean = [0.1, -2]\ndeviation = 3e-4\n"
                    "[[prepare]]\nkind = \"rescale\"\nfactor = 2\n[[prepare]]\n"
                    "kind = \"unit-norm\"\n[[prepare]]\nkind = \"random-crop\"\npadding = 2\n"
                    "[[prepare]]\nkind = \"random-flip\"\n[[layer]]\nkind = \"dense\"\n"
                    "outputs = 2\n"),
        std::string("name = \"r\"\ninput = [4, 4, 2]\n[[layer]]\nkind = \"fork\"\nbranch = 1\n"
                    "[[layer]]\nkind = \"conv2d\"\noutputs = 2\nkernel = 3\npadding = 1\n"
                    "[[layer]]\nkind = \"relu\"\n[[layer]]\nkind = \"swap\"\nbranch = 1\n"
                    "[[layer]]\nkind = \"conv2d\"\noutputs = 2\nkernel = 1\n[[layer]]\n"
                    "kind = \"add\"\nbranch = 1\n"),
        std::string("name = \"b\"\ninput = [6]\ntokens = 5\n[[layer]]\nkind = \"embedding\"\n"
                    "width = 2\n[[layer]]\nkind = \"lstm\"\nunits = 3\noutput = \"last\"\n"),
        std::string("name = \"c\"\ninput = [9, 2]\nloss = \"mean-squared-error\"\n"
                    "target = \"input\"\n[[layer]]\nkind = \"conv1d\"\noutputs = 3\nkernel = 2\n"
                    "[[layer]]\nkind = \"local-response-norm\"\nsize = 3\n[[layer]]\n"
                    "kind = \"tanh\"\n[[layer]]\nkind = \"dense\"\noutputs = 18\n")}) {
    corpus.Add(Text(text));
    corpus.Add(Bundle(text, {}));
  }
  corpus.Add(
      Bundle("name = \"d\"\ninput = [3]\nfrozen = 1\nfrozen-weights = \"numbers-1.f32\"\n"
             "[[prepare]]\nkind = \"rescale\"\nfactor = \"numbers-2.f32\"\n[[layer]]\n"
             "kind = \"dense\"\noutputs = 2\n[[layer]]\nkind = \"dense\"\noutputs = 2\n",
             {8, 3}));
}

// As HAProxy sends them: TCP over IPv4 with a field behind it, over IPv6, and a health check.
void AddProxyHeaders(Corpus& corpus) {
  const Bytes signature = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
  const Bytes ports = {0xd4, 0x31, 0x1c, 0x09};
  const Bytes noop = {0x04, 0x00, 0x01, 0x00};
  corpus.Add(signature + Bytes{0x21, 0x11, 0, 16} + Bytes(8, 10) + ports + noop + Bytes{22, 3, 1});
  corpus.Add(signature + Bytes{0x21, 0x21, 0, 36} + Bytes(32, 0xfd) + ports);
  corpus.Add(signature + Bytes{0x20, 0x00, 0, 0});
}

}  // namespace
}  // namespace sotto::fuzz

int main(int argc, char** argv) {
  using namespace sotto::fuzz;
  if (argc != 2) {
    std::fputs("usage: make_seeds FOLDER\n", stderr);
    return 2;
  }
  Corpus decoder(argv[1], "update_decoder");
  Corpus round_trip(argv[1], "update_round_trip");
  Corpus range_coder(argv[1], "range_coder");
  AddUpdates(decoder, round_trip, range_coder);
  Corpus model_difference(argv[1], "model_difference");
  AddDifferences(model_difference);
  Corpus frames(argv[1], "frame_link");
  AddFrames(frames);
  Corpus packets(argv[1], "packets");
  AddPackets(packets);
  Corpus peers(argv[1], "peer_packets");
  AddPeerMessages(peers);
  AddPublications(peers);
  Corpus proxies(argv[1], "proxy_header");
  AddProxyHeaders(proxies);
  Corpus files(argv[1], "files");
  AddFiles(files);
  Corpus datasets(argv[1], "datasets");
  AddDatasets(datasets);
  Corpus models(argv[1], "model_file");
  AddModels(models);
  Corpus accountants(argv[1], "accountants");
  AddPlans(accountants);
  return 0;
}
