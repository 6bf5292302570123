// A client whose round's model lies in flash: it only reads `base`, and writes through its writer.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/bytes.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Flash that the CPU reads like memory. To program can only clear bits, so a page is erased before
// it is programmed; that wears it.
class FakeFlash {
 public:
  static constexpr size_t kPage = 64;  // floats

  explicit FakeFlash(size_t size) : values_((size + kPage - 1) / kPage * kPage), size_(size) {
    std::fill(values_.begin(), values_.end(), FloatFromBits(0));
  }

  Span<const float> base() const { return {values_.data(), size_}; }
  ModelWriter writer() { return {Write, this}; }

  int erased = 0;  // pages
  int writes = 0;
  Status status = Status::kOk;

 private:
  // As a port would do it: pages that hold the same values are left alone.
  static Status Write(void* context, Span<const float> model) {
    auto* self = static_cast<FakeFlash*>(context);
    ++self->writes;
    for (size_t first = 0; first < model.size(); first += kPage) {
      const size_t count = std::min(kPage, model.size() - first);
      const auto page = self->values_.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::equal(page, page + static_cast<std::ptrdiff_t>(count), model.data() + first)) {
        continue;
      }
      if (self->status != Status::kOk) return self->status;
      std::fill(page, page + kPage, FloatFromBits(0xffffffff));
      ++self->erased;
      for (size_t i = 0; i < count; ++i) self->Program(first + i, model[first + i]);
    }
    return Status::kOk;
  }

  void Program(size_t at, float value) {
    values_[at] = FloatFromBits(FloatBits(values_[at]) & FloatBits(value));
  }

  std::vector<float> values_;
  size_t size_;
};

// One device of a small job, whose model is in flash.
struct FlashDevice {
  FlashDevice(SmallJob& of, uint32_t device)
      : small(of),
        index(device),
        flash(of.job.config().model->parameters),
        rest(of.registry[device], device, *of.job.config().model, of.job.round()),
        client(rest.config, Buffers()) {}

  ClientBuffers Buffers() {
    ClientBuffers buffers = rest.buffers();
    buffers.base = flash.base();
    buffers.writer = flash.writer();
    return buffers;
  }

  // Until the client waits or fails. The reply to request number `lose_at` is lost.
  Status Run(int lose_at = -1) {
    Client::Progress progress = Client::Progress::kAgain;
    for (int sent = 0; progress != Client::Progress::kWait;) {
      if (Status s = client.Step(&progress); s != Status::kOk) return s;
      if (progress != Client::Progress::kSend) continue;
      const Reply reply = small.job.Answer(index, client.request());
      if (sent++ == lose_at) {
        client.OnLinkLost();
      } else if (Status s = client.OnReply(reply); s != Status::kOk) {
        return s;
      }
    }
    return Status::kOk;
  }

  SmallJob& small;
  uint32_t index;
  FakeFlash flash;
  SmallDevice rest;
  Client client;
};

// Two rounds of a job of one drawn device each; the models.
std::vector<std::vector<float>> Models(bool in_flash) {
  SmallJob small;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(small.job.OpenRound());
    const uint32_t index = small.job.cohort()[0];
    if (in_flash) {
      FlashDevice device(small, index);
      EXPECT_EQ(device.Run(), Status::kOk);
      EXPECT_EQ(device.flash.writes, 1);
      EXPECT_TRUE(std::equal(device.flash.base().begin(), device.flash.base().end(),
                             small.job.parameters().begin()));
    } else {
      small.Report(index);
    }
    EXPECT_EQ(small.job.CloseRound().reported, 1U);
  }
  return small.store.models;
}

TEST(ClientFlash, ItTrainsToTheSameUpdateAsFromMemory) { EXPECT_EQ(Models(true), Models(false)); }

TEST(ClientFlash, AModelThatWasDownloadedInPiecesIsWrittenOnceAndPagesThatStayAreNotErased) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  ASSERT_TRUE(small.job.CloseRound().released);
  ASSERT_TRUE(small.job.OpenRound());
  FlashDevice device(small, small.job.cohort()[0]);
  EXPECT_EQ(device.Run(1), Status::kOk) << "the link is cut while it downloads";
  EXPECT_EQ(device.flash.writes, 1);
  EXPECT_EQ(device.flash.erased, 11) << "650 parameters in pages of 64";
  const ModelWriter writer = device.flash.writer();
  EXPECT_EQ(writer.write(writer.context, small.job.parameters()), Status::kOk);
  EXPECT_EQ(device.flash.erased, 11) << "the same model again";
}

TEST(ClientFlash, AWriterThatFailsEndsTheRoundAndTheNextOneWritesAnew) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  ASSERT_TRUE(small.job.CloseRound().released);
  ASSERT_TRUE(small.job.OpenRound());
  FlashDevice device(small, small.job.cohort()[0]);
  device.flash.status = Status::kLinkLost;
  EXPECT_EQ(device.Run(), Status::kLinkLost);
  EXPECT_EQ(device.client.state(), Client::State::kHello);
  device.flash.status = Status::kOk;
  EXPECT_EQ(device.Run(), Status::kOk);
  EXPECT_EQ(small.job.CloseRound().reported, 1U);
}

}  // namespace
}  // namespace sotto::server
