#include "peer_device.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

#include "peer_statement.h"
#include "sotto/posix/files.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kPatienceMs = 10000;
constexpr uint64_t kLinkIdleMs = 60000;  // a longer training closes the link first
constexpr uint32_t kServePauseMs = 1000;
constexpr uint32_t kMostLost = 5;  // answers in a row of a directory that has ended

ByteSpan BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Before anything is read or locked.
PeerJob JobOf(const ClientOptions& options, const ModelInfo& model) {
  const PeerJob job = PeerJobOf(options.peer.job);
  RequirePeerJobSuits(model, job);
  if (job.unit == PeerUnit::kNone && !options.allow_no_privacy) {
    throw std::invalid_argument(
        "the job trains without privacy; --allow-no-privacy takes part all the same");
  }
  return job;
}

HostPort ListenAddress(const std::string& text) {
  HostPort address = *ParseHostPort(text);
  address.host = NumericAddress(address.host);
  return address;
}

}  // namespace

PeerDevice::PeerDevice(const ClientOptions& options, const SharedModel& model, const DeviceKey& key,
                       PeerReporter& reporter)
    : options_(options),
      model_(*model),
      key_(key),
      job_(JobOf(options, model_)),
      policy_row_(FindSharePolicy(options.peer.share)),
      reporter_(reporter),
      lock_(LedgerPath(options) + ".lock"),
      store_(StatePath(options)),
      share_(LoadShare(options, model_)),
      samples_(*share_.data, share_.view(), options.held_out),
      local_(model_.parameters),
      work_(model_.parameters),
      head_(model_.parameters),
      last_(model_.parameters),
      scratch_(model_.training_floats(model_, job_.batch_size)),
      indices_(job_.batch_size),
      publication_(MaxPublicationBytes(model_.parameters)),
      fetched_(MaxPublicationBytes(model_.parameters)),
      entropy_(key.secret, &trainer_),
      address_(options.peer.address.empty() ? options.peer.listen : options.peer.address),
      directory_(ParseServerAddresses(options.server), key_, kMaxFrame),
      tries_(options, reporter) {
  reporter_.Data(DescribeData(share_));
  store_.SetPath(StoreSlot::kPeer, LedgerPath(options));
  Begin();
  if (!options.peer.public_data.empty()) {
    public_loss_ = std::make_unique<PublicLossData>(options.peer.public_data, model_,
                                                    share_.data->info().columns);
  }
  policy_ = MakeSharePolicy(options.peer.share, PolicyContext());
  node_ = std::make_unique<PeerNode>(&trainer_, policy_->policy(), NodeConfig());
  if (!options.peer.listen.empty()) {
    server_ = std::make_unique<NeighbourServer>(ListenAddress(options.peer.listen),
                                                trainer_.job_id(), kMaxFrame);
  }
}

PeerBuffers PeerDevice::Buffers() {
  const auto span = [](std::vector<float>& v) { return Span<float>(v.data(), v.size()); };
  return {span(local_),
          span(work_),
          span(head_),
          span(last_),
          span(scratch_),
          {indices_.data(), indices_.size()},
          {publication_.data(), publication_.size()}};
}

void PeerDevice::Begin() {
  PeerConfig config;
  config.model = &model_;
  config.job = job_;
  config.device_id = BytesOf(key_.device_id);
  config.secret = key_.secret;
  config.samples = samples_.source();
  config.port = SystemPort();
  if (options_.seed) {
    config.port.entropy = SeededPeerEntropy::Fill;
    config.port.context = &entropy_;
  }
  config.store = store_.store();
  config.most_rho_q40 = MostRhoQ40(options_.peer);
  if (config.samples.count < job_.batch_size) {
    throw std::invalid_argument(
        fmt::format("this node has {} samples; the job's batch size, {}, needs that many at least",
                    config.samples.count, job_.batch_size));
  }
  if (const Status s = trainer_.Begin(config, Buffers()); s != Status::kOk) ThrowBegin(s);
}

void PeerDevice::ThrowBegin(Status status) const {
  if (status == Status::kMalformed) {
    throw FileError(fmt::format(
        "{}: the ledger is damaged, or of another version, so the privacy that this node has spent "
        "is not known; a new ledger, --ledger FILE, counts from zero",
        store_.path(StoreSlot::kPeer)));
  }
  if (status == Status::kMismatch && model_.personal > 0) {
    throw std::runtime_error(fmt::format(
        "the node cannot begin: model {} has personal layers, and nodes train none; leave "
        "`personal` out of its file",
        model_.name));
  }
  if (status == Status::kMismatch) {
    throw FileError(fmt::format(
        "{}: this job was begun with another key or another number of samples, so the order in "
        "which samples are published would change; give the former key and samples, or start "
        "another job",
        store_.path(StoreSlot::kPeer)));
  }
  if (status == Status::kStoreFailed) store_.ThrowError();
  throw std::runtime_error(
      fmt::format("the node cannot begin: {} ({})", Reason(status), StatusName(status)));
}

SharePolicyContext PeerDevice::PolicyContext() {
  SharePolicyContext context;
  context.secret = key_.secret;
  context.job_id = trainer_.job_id();
  context.parameters = model_.parameters;
  if (public_loss_) {
    context.public_loss = PublicLossData::Loss;
    context.public_loss_context = public_loss_.get();
  }
  return context;
}

PeerNodeConfig PeerDevice::NodeConfig() {
  PeerNodeConfig config;
  config.port = SystemPort();
  config.max_frame = kMaxFrame;
  config.address = BytesOf(address_);
  config.fetched = {fetched_.data(), fetched_.size()};
  return config;
}

// ---- The run

Ending PeerDevice::Run() {
  reporter_.Started(model_, samples_.source().count, PeerStatement(model_, job_, policy_row_));
  if (server_) reporter_.Listening(server_->port());
  Serve();
  const Ending ending = RunUntilEnd();
  directory_.Close();
  if (neighbour_) neighbour_->Close();
  return ending;
}

Ending PeerDevice::RunUntilEnd() {
  for (;;) {
    if (std::optional<Ending> ending = tries_.End("directory")) return *ending;
    if (std::optional<Ending> ending = Step()) return *ending;
  }
}

// One step of the node, and the pause or the message that it asks for.
std::optional<Ending> PeerDevice::Step() {
  CloseIdleLink();
  const PeerNode::State before = node_->state();
  const bool is_learning =
      before == PeerNode::State::kDecide || before == PeerNode::State::kPublish;
  PeerNode::Progress progress = PeerNode::Progress::kAgain;
  if (const Status status = node_->Step(&progress); status != Status::kOk) {
    if (status == Status::kStoreFailed) store_.ThrowError();
    throw std::runtime_error(
        fmt::format("the node cannot go on: {} ({})", Reason(status), StatusName(status)));
  }
  // No directory is lacked while the node learns.
  if (is_learning && progress == PeerNode::Progress::kAgain) tries_.NothingToAnswer();
  ReportStep(before);
  switch (progress) {
    case PeerNode::Progress::kDone:
      return EndingOfNode();
    case PeerNode::Progress::kWait:
      SleepUnlessStopped(node_->wait_ms());
      return std::nullopt;
    case PeerNode::Progress::kSend:
      return Talk();
    case PeerNode::Progress::kAgain:
      break;
  }
  return std::nullopt;
}

void PeerDevice::ReportStep(PeerNode::State before) {
  if (before != PeerNode::State::kPublish || !trainer_.has_pending()) return;
  reporter_.Published(trainer_, trainer_.publication_version() - 1, trainer_.head_version());
  Serve();
}

std::optional<Ending> PeerDevice::Talk() {
  Connection& link = LinkTo(node_->where());
  PeerReply reply;
  const Status status = Exchange(link, node_->request(), &reply);
  if (status != Status::kOk) {
    if (StopSignal() == 0) LoseLink(link, status);
    return std::nullopt;
  }
  tries_.Answered();
  TakeReply(link, reply);
  return std::nullopt;
}

void PeerDevice::TakeReply(Connection& link, const PeerReply& reply) {
  const bool was_pending = trainer_.has_pending();
  const uint32_t accepted = node_->accepted();
  const bool is_directory = node_->where().is_directory;
  const bool is_join = node_->request().kind == PeerRequest::Kind::kJoin;
  const Status status = node_->OnReply(reply);
  if (status == Status::kMalformed) {
    link.Close();
    tries_.PauseAfter(FailureOf(status));
    return;
  }
  if (status != Status::kOk) return;  // the next step says so
  if (reply.kind == PeerReply::Kind::kError && is_directory && !node_->is_refused()) {
    reporter_.Retrying(FailureOf(reply.code), reply.wait_ms);
  }
  if (was_pending && !trainer_.has_pending()) {
    reporter_.Adopted(trainer_.step(), node_->accepted() != accepted);
  }
  if (!is_join || reply.kind != PeerReply::Kind::kWelcome) return;
  if (!std::exchange(is_reported_joined_, true)) reporter_.Joined(*node_, trainer_);
  LearnRoster();
}

Ending PeerDevice::EndingOfNode() {
  switch (node_->refusal()) {
    case PeerNode::Refusal::kNotPaidFor:
      return {Outcome::kRefused,
              fmt::format("the ledger {} does not pay for another publication: {} of this job are "
                          "made; --most-rho is {}",
                          store_.path(StoreSlot::kPeer), trainer_.ledger().releases,
                          options_.peer.most_rho),
              StatusName(Status::kPeerRefused)};
    case PeerNode::Refusal::kUnreachable:
      return {Outcome::kRefused,
              "nobody could get this node's publications: the directory has no relay, and the node "
              "does not listen; give it --listen, or the directory --relay",
              StatusName(Status::kPeerRefused)};
    case PeerNode::Refusal::kByDirectory:
      return {Outcome::kRefused,
              fmt::format("the directory refuses this node: {}; give the model and the job that "
                          "the directory has",
                          Reason(node_->error_code())),
              ErrorCodeName(node_->error_code())};
    case PeerNode::Refusal::kNone:
      break;
  }
  ServeOn();
  return {};
}

// ---- Links

Connection& PeerDevice::LinkTo(const PeerPlace& place) {
  if (place.is_directory) return directory_;
  if (!neighbour_ || neighbour_number_ != place.node || !neighbour_->is_open()) {
    const std::string address(place.address.begin(), place.address.end());
    const std::optional<HostPort> to = ParseHostPort(address);
    pair_key_ = {key_.device_id, *place.pair_key};
    neighbour_number_ = place.node;
    // An address that is none is a neighbour that does not answer.
    neighbour_ = std::make_unique<Connection>(
        std::vector<HostPort>{to.value_or(HostPort{"0.0.0.0", 0})}, pair_key_, kMaxFrame);
  }
  return *neighbour_;
}

Status PeerDevice::Exchange(Connection& link, const PeerRequest& request, PeerReply* reply) {
  const bool is_directory = &link == &directory_;
  if (!link.is_open()) {
    if (!link.Open()) return Status::kLinkLost;
    is_new_link_ = is_new_link_ || (is_directory && !is_serving_on_);
  }
  Status status = Status::kWouldBlock;
  while (status == Status::kWouldBlock && StopSignal() == 0) {
    status = link.Exchange(request, reply, kPatienceMs);
    if (is_directory) directory_used_ms_ = NowMs();
    if (is_directory && is_new_link_ && link.is_authenticated()) {
      is_new_link_ = false;
      reporter_.Connected(AddressText(link.server()));
    }
  }
  return status;
}

void PeerDevice::LoseLink(Connection& link, Status status) {
  const Failure failure = WhyLost(link, key_.device_id, status);
  link.Close();
  const bool is_directory = &link == &directory_;
  if (!is_directory) reporter_.NeighbourLost(node_->where(), failure);
  node_->OnLinkLost();
  if (is_directory) tries_.PauseAfter(failure);
}

// A directory closes links that are idle for long: the node closes them first.
void PeerDevice::CloseIdleLink() {
  if (!directory_.is_open() || NowMs() - directory_used_ms_ < kLinkIdleMs) return;
  directory_.Close();
  node_->OnDirectoryLinkClosed();
}

// ---- Neighbours

// The pair keys of all others, so that they can connect.
void PeerDevice::LearnRoster() {
  if (!server_ || node_->nodes() == roster_nodes_) return;
  std::map<std::string, Key> keys;
  for (uint32_t i = 0; i < node_->nodes(); ++i) {
    if (i == node_->number()) continue;
    PeerRequest request;
    request.kind = PeerRequest::Kind::kRosterEntry;
    request.node = i;
    PeerReply reply;
    if (Exchange(directory_, request, &reply) != Status::kOk) {
      directory_.Close();
      node_->OnDirectoryLinkClosed();
      return;
    }
    if (reply.kind != PeerReply::Kind::kEntry) continue;
    keys.emplace(std::string(reply.device_id.begin(), reply.device_id.end()), reply.pair_key);
  }
  roster_nodes_ = node_->nodes();
  server_->SetRoster(node_->number(), roster_nodes_, std::move(keys));
}

void PeerDevice::Serve() {
  if (!server_ || trainer_.publication().empty()) return;
  PeerHead name;
  name.version = trainer_.publication_version();
  name.publisher = node_->number();
  name.size = static_cast<uint32_t>(trainer_.publication().size());
  std::copy(trainer_.publication_digest().begin(), trainer_.publication_digest().end(),
            name.digest);
  server_->SetPublication(name, trainer_.publication());
}

// Neighbours may need this node's last publication when it has taken its last step.
void PeerDevice::ServeOn() {
  const uint32_t version = trainer_.publication_version();
  const bool is_needed = server_ && !node_->has_relay() && options_.peer.serve_s > 0 &&
                         version > 0 && node_->accepted() > 0;
  if (!is_needed) return;
  reporter_.Serving(version, options_.peer.serve_s);
  is_serving_on_ = true;
  const uint64_t begin_ms = NowMs();
  uint32_t lost = 0;
  while (StopSignal() == 0 && lost < kMostLost &&
         static_cast<double>(NowMs() - begin_ms) < options_.peer.serve_s * 1000) {
    const std::optional<uint32_t> head = AskHead();
    if (head && *head > version) return;
    lost = head ? 0 : lost + 1;
    SleepUnlessStopped(kServePauseMs);
  }
}

// Asks for the directory's head over a new link: a directory whose nodes are all done waits for
// links to close, and ends. Absent if it does not answer.
std::optional<uint32_t> PeerDevice::AskHead() {
  directory_.Close();
  PeerRequest request;
  request.kind = PeerRequest::Kind::kJoin;
  request.job_id = trainer_.job_id();
  request.max_frame = kMaxFrame;
  request.address = BytesOf(address_);
  request.has_public_policy = policy_row_.has_public_inputs();
  PeerReply reply;
  const Status status = Exchange(directory_, request, &reply);
  directory_.Close();
  const bool tells = status == Status::kOk && reply.kind == PeerReply::Kind::kWelcome;
  return tells ? std::optional<uint32_t>(reply.head.version) : std::nullopt;
}

}  // namespace sotto::posix
