// Devices that take models as differences, against a server that runs: what they have after a
// download is what the store has, across a restart and after the job, and a connection is told less
// each time.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "sotto/models.h"
#include "unit/sdk/hex.h"
#include "unit/server/downloading.h"

namespace sotto::live {
namespace {

using server::Holder;

const ModelInfo& Model() { return *FindModel("softmax-784-10"); }

// Four devices, all of which are drawn for a round.
class LiveDownloadTest : public testing::Test {
 protected:
  Server Serve() const {
    return site_.Serve({"--cohort", "4", "--rounds", "3", "--noise-multiplier", "1", "--coding",
                        "fixed", "--padding", "0", "--round-timeout", "50"});
  }

  std::unique_ptr<Caller> Connected(size_t device) {
    auto caller = std::make_unique<Caller>(server_.port, site_.key(device));
    EXPECT_EQ(caller->Connect(), Status::kOk);
    return caller;
  }

  Request Hello(size_t device, ByteSpan held = {}, uint32_t features = kFeatureDifferences) {
    EXPECT_EQ(ModelDigest(Model(), digest_), Status::kOk);
    Request request;
    request.kind = Request::Kind::kHello;
    request.device_id = View(site_.key(device).device_id);
    request.model_digest = digest_;
    request.max_frame = 4096;
    request.held = held;
    request.abilities.features = features;
    return request;
  }

  static Request Later(uint32_t hold_ms = 0) {
    Request request;
    request.kind = Request::Kind::kHello;
    request.version = 0;
    request.max_frame = 0;
    request.hold_ms = hold_ms;
    return request;
  }

  Request Fetch(const Holder& holder) const {
    Request request;
    request.kind = Request::Kind::kGetRelease;
    request.held = holder.held();
    return request;
  }

  // Takes the newest release on a new connection.
  Reply TakeRelease(size_t device, Holder* holder) {
    const std::unique_ptr<Caller> caller = Connected(device);
    (void)caller->Ask(Hello(device));
    Reply reply = caller->Ask(Fetch(*holder));
    EXPECT_EQ(reply.kind, Reply::Kind::kRelease);
    if (reply.kind == Reply::Kind::kRelease) Take(*caller, reply.model, holder);
    reply.model = {};
    reply.job_id = reply.claims = {};
    return reply;
  }

  // The reply's bytes live until the next one.
  static void Take(Caller& caller, const ModelOffer& offer, Holder* holder) {
    const std::vector<uint8_t> check(offer.check.begin(), offer.check.end());
    const std::vector<uint8_t> key(offer.weights_key.begin(), offer.weights_key.end());
    ModelOffer kept = offer;
    kept.check = View(check);
    kept.weights_key = View(key);
    holder->Take(kept, [&](const Request& request) { return caller.Ask(request); });
  }

  std::vector<float> Released(uint32_t round) const {
    return server::SqlStore(site_.Path("store")).ReadModel(1, round - 1).parameters;
  }

  void Restart() {
    server_.process.Signal(SIGTERM);
    EXPECT_EQ(server_.process.Wait(), 128 + SIGTERM) << ReadFile(server_.log);
    server_ = Serve();
  }

  uint8_t digest_[kSha256Size] = {};
  Site site_{4};
  Server server_ = Serve();
};

TEST_F(LiveDownloadTest, ADeviceHasWhatTheStoreHasAcrossARestartAndAfterTheJob) {
  Holder holder(Model());
  ASSERT_TRUE(server_.WaitForDraw());
  ASSERT_TRUE(RoundCompletes(site_, server_));  // of devices that take float32
  ASSERT_TRUE(Eventually([&] {
    const std::unique_ptr<Caller> caller = Connected(0);
    const Reply train = caller->Ask(Hello(0));
    if (train.kind != Reply::Kind::kTrain || train.task.round != 1) return false;
    Take(*caller, train.model, &holder);
    return true;
  })) << ReadFile(server_.log);
  EXPECT_EQ(holder.parameters(), Released(1));
  EXPECT_LT(holder.bytes(), 31400u / 4);

  Restart();
  const Reply again = TakeRelease(0, &holder);
  EXPECT_EQ(holder.bytes(), 0u);  // the device has it
  EXPECT_EQ(again.rounds, 1u);
  EXPECT_FALSE(again.final);
  ASSERT_TRUE(RoundCompletes(site_, server_));
  TakeRelease(1, &holder);
  EXPECT_EQ(holder.parameters(), Released(2));
  EXPECT_LT(holder.bytes(), 31400u / 4);
}

TEST_F(LiveDownloadTest, AReleaseIsFetchedWhateverTheJobDoes) {
  Holder holder(Model());
  ASSERT_TRUE(server_.WaitForDraw());
  const std::unique_ptr<Caller> first = Connected(0);
  EXPECT_EQ(first->Ask(Fetch(holder)).code, ErrorCode::kVersion);  // who has said no Hello
  (void)first->Ask(Hello(0));
  const Reply none = first->Ask(Fetch(holder));
  EXPECT_EQ(none.code, ErrorCode::kBusy);
  EXPECT_FALSE(none.final);
  ASSERT_TRUE(RoundCompletes(site_, server_));
  EXPECT_EQ(TakeRelease(0, &holder).rounds, 1u);
  EXPECT_EQ(holder.parameters(), Released(1));
}

TEST_F(LiveDownloadTest, ALaterHelloOfAConnectionSaysWhatHasChanged) {
  ASSERT_TRUE(server_.WaitForDraw());
  const std::unique_ptr<Caller> unknown = Connected(0);
  EXPECT_EQ(unknown->Ask(Later()).code, ErrorCode::kVersion);
  const std::unique_ptr<Caller> old = Connected(1);
  EXPECT_EQ(old->Ask(Hello(1, {}, kFeatureStays)).server_features, 0u);
  const std::unique_ptr<Caller> caller = Connected(2);
  const Reply whole = caller->Ask(Hello(2));
  ASSERT_EQ(whole.kind, Reply::Kind::kTrain);
  EXPECT_EQ(whole.server_features, kServerRemembersHello | kServerNamesReleases);
  const Reply later = caller->Ask(Later());
  ASSERT_EQ(later.kind, Reply::Kind::kTrain);
  EXPECT_EQ(later.server_features, 0u);
  EXPECT_FALSE(later.model.check.empty());
  Request malformed = Later();
  malformed.max_frame = 5;
  EXPECT_EQ(caller->Ask(malformed).code, ErrorCode::kMalformed);
}

// A frame of TLS adds 21 bytes to what is here.
TEST_F(LiveDownloadTest, APollWithoutNewsTakes56BytesOnTheWire) {
  ASSERT_TRUE(server_.WaitForDraw());
  Request hello = Hello(3);
  hello.abilities.largest_batch = 1;  // it lacks something: it waits
  hello.hold_ms = 300;
  const std::unique_ptr<Caller> caller = Connected(3);
  ASSERT_EQ(caller->Ask(hello).kind, Reply::Kind::kWait);
  const Request poll = Later(25000);
  uint8_t bytes[kFrameHeaderSize + 256];
  size_t up = 0;
  ASSERT_EQ(EncodeRequest(poll, 256, bytes, &up), Status::kOk);
  Request short_poll = Later(300);
  Reply wait = caller->Ask(short_poll);
  ASSERT_EQ(wait.kind, Reply::Kind::kWait);
  size_t down = 0;
  ASSERT_EQ(EncodeReply(wait, 256, bytes, &down), Status::kOk);
  EXPECT_LE(up + 21 + down + 21, 56u);
}

}  // namespace
}  // namespace sotto::live
