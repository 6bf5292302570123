#include "fetch.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <vector>

#include "connection.h"
#include "failure.h"
#include "kept_model.h"
#include "sotto/model_download.h"
#include "sotto/posix/check.h"
#include "tries.h"

namespace sotto::posix {
namespace {

// One model on its way. A link is lost or refused as Fetch() returns; the next one begins anew.
class Fetch {
 public:
  Fetch(const ModelInfo& model, ModelKeeper& keeper, Connection& link)
      : model_(model), keeper_(keeper), link_(link), parameters_(model.parameters) {
    Check(ModelDigest(model, digest_), "the model's digest");
  }

  // kOk once release() is whole in parameters(); kPeerRefused if reply() is an error, or not what
  // was asked for; else how the link ended.
  Status Run() {
    Status status = RunFrom(keeper_.Held(model_));
    // What is held is not what the server takes it for.
    if (is_wrong_ && !keeper_.Held(model_).empty()) status = RunFrom({});
    return status;
  }

  const Reply& reply() const { return reply_; }
  const Release& release() const { return release_; }
  Span<const float> parameters() const { return {parameters_.data(), parameters_.size()}; }
  uint32_t bytes() const { return bytes_; }

 private:
  Status Ask(const Request& request, Reply::Kind kind) {
    if (Status s = link_.Exchange(request, &reply_, kUntilAnsweredMs); s != Status::kOk) return s;
    return reply_.kind == kind ? Status::kOk : Status::kPeerRefused;
  }

  Status RunFrom(Span<const float> held) {
    uint8_t check[kModelCheckSize] = {};
    Request ask;
    ask.kind = Request::Kind::kGetRelease;
    ask.model_digest = digest_;
    if (!held.empty()) {
      Check(ModelCheck(held, check), "the model's check");
      ask.held = check;
    }
    if (Status s = Ask(ask, Reply::Kind::kRelease); s != Status::kOk) return s;
    TakeRelease();
    bytes_ = 0;
    const ByteSpan offered = reply_.model.check;
    if (std::equal(offered.begin(), offered.end(), ask.held.begin(), ask.held.end())) {
      parameters_.assign(held.begin(), held.end());
      return Status::kOk;
    }
    return Download(held);
  }

  // The reply's bytes live until the next one.
  void TakeRelease() {
    std::copy_n(reply_.job_id.begin(), kJobIdSize, release_.job_id);
    release_.rounds = reply_.rounds;
    release_.is_final = reply_.final;
    release_.threshold = reply_.threshold;
    const size_t size = std::min(reply_.claims.size(), sizeof(claims_));
    std::copy_n(reply_.claims.begin(), size, claims_);
    release_.claims = ByteSpan(claims_).first(size);
  }

  Status Download(Span<const float> held) {
    ModelDownload download;
    const Span<float> out = {parameters_.data(), parameters_.size()};
    Status status = download.Begin(reply_.model, model_, held, out);
    while (status == Status::kOk && !download.is_whole()) {
      Request next;
      download.PrepareRequest(&next);
      if (Status s = Ask(next, Reply::Kind::kModelChunk); s != Status::kOk) return s;
      status = download.Take(reply_.bytes);
    }
    bytes_ = download.received();
    if (status == Status::kOk) status = download.Check();
    is_wrong_ = status != Status::kOk;
    return status;
  }

  const ModelInfo& model_;
  ModelKeeper& keeper_;
  Connection& link_;
  std::vector<float> parameters_;
  uint8_t digest_[kSha256Size] = {};
  uint8_t claims_[kMaxClaimsSize] = {};
  Reply reply_;
  Release release_;
  uint32_t bytes_ = 0;
  bool is_wrong_ = false;  // what came was not what was offered
};

// Of errors that no later try changes.
bool IsForGood(const Reply& reply) {
  if (reply.kind != Reply::Kind::kError) return false;
  const ErrorCode code = reply.code;
  return code == ErrorCode::kKeyRotated || code == ErrorCode::kKeyRevoked ||
         code == ErrorCode::kMalformed || code == ErrorCode::kModelMismatch;
}

}  // namespace

Ending FetchReleasedModel(const ClientOptions& options, const ModelInfo& model,
                          const DeviceKey& key, Reporter& reporter) {
  ModelKeeper keeper(options.keep_model);
  if (!keeper.damage().empty()) reporter.KeptModelDamaged(keeper.damage());
  const std::vector<HostPort> servers = ParseServerAddresses(options.server);
  Connection link(servers, key, kMaxFrame, options.resume_tls);
  Tries tries(options, reporter);
  for (size_t tried = 1;; ++tried) {
    if (std::optional<Ending> ending = tries.End("server")) return *ending;
    Fetch fetch(model, keeper, link);
    const Status status = link.Open() ? fetch.Run() : Status::kLinkLost;
    if (status == Status::kOk) {
      link.Close();
      keeper.Keep(model, fetch.release(), fetch.parameters());
      reporter.KeptRelease(fetch.release(), fetch.bytes());
      return Ending{};
    }
    const bool is_answer = status == Status::kPeerRefused && link.is_authenticated();
    const Failure failure =
        is_answer ? WhyNoRelease(fetch.reply(), status) : WhyLost(link, key.device_id, status);
    link.Close();
    if (is_answer && IsForGood(fetch.reply())) {
      return {Outcome::kRefused, failure.reason, failure.code};
    }
    if (options.give_up_s <= 0 && tried >= servers.size())
      return {Outcome::kNoServer, failure.reason, failure.code};
    tries.PauseAfter(failure);
  }
}

}  // namespace sotto::posix
