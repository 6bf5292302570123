#include "faults/device.h"

#include <algorithm>

#include "sotto/wire.h"

namespace sotto::server {
namespace {

constexpr uint32_t kSamples = 4;
constexpr uint32_t kBatch = 3;
constexpr size_t kChunk = 1000;
constexpr uint64_t kReplyTimeoutMs = 6000;

}  // namespace

SimulatedDevice::SimulatedDevice(World& world, const Scenario& scenario, Witness& witness,
                                 Servers& servers, const ModelInfo& model, uint32_t index,
                                 const Device& identity)
    : world_(world),
      scenario_(scenario),
      witness_(witness),
      servers_(servers),
      index_(index),
      identity_(identity),
      entropy_(identity_.secret, 1 + world.Below(1U << 30)),
      base_(model.parameters),
      memory_(model, kBatch, kChunk, false, false) {
  config_.model = &model;
  config_.device_id = {reinterpret_cast<const uint8_t*>(identity_.id.data()), identity_.id.size()};
  config_.secret = identity_.secret;
  config_.samples = {kSamples, ReadSample, this};
  config_.port = {NowMs, Entropy, this};
  config_.max_frame = kMaxMaxFrame;
  config_.stays = true;
  server_ = world.Below(2);
  Reset();
}

Status SimulatedDevice::Entropy(void* context, MutableByteSpan out) {
  static_cast<SimulatedDevice*>(context)->entropy_.Fill(out);
  return Status::kOk;
}

Status SimulatedDevice::ReadSample(void* context, uint32_t sample, Span<float> features,
                                   uint32_t* label) {
  const auto* self = static_cast<const SimulatedDevice*>(context);
  uint32_t value = self->index_ * kSamples + sample + 1;
  for (float& feature : features) {
    value = value * 1664525U + 1013904223U;
    feature = static_cast<float>(value >> 24) / 255.0F;
  }
  *label = value % 10;
  return Status::kOk;
}

// The device holds the model of the round before the one that it was asked for.
Status SimulatedDevice::WriteModel(void* context, Span<const float> model) {
  auto* self = static_cast<SimulatedDevice*>(context);
  const TrainTask& task = self->client_->task();
  self->witness_.OnModel(self->identity_.id, Witness::IdOf(task.job_id), int64_t{task.round} - 1,
                         model);
  std::copy(model.begin(), model.end(), self->base_.begin());
  return Status::kOk;
}

uint64_t SimulatedDevice::NowMs(void* context) {
  return static_cast<const SimulatedDevice*>(context)->world_.now_ms();
}

void SimulatedDevice::Reset() {
  ClientBuffers buffers = memory_.buffers();
  buffers.base = {base_.data(), base_.size()};
  buffers.writer = {WriteModel, this};
  auto fresh = std::make_unique<Client>(config_, buffers);
  if (client_ != nullptr) {
    fresh->RestoreReceipt(client_->receipt());
    if (fresh->RestoreModel() != Status::kOk) world_.Violate("a model cannot be restored");
  }
  client_ = std::move(fresh);
  link_ = 0;
  ++request_;
  has_rested_ = false;
}

void SimulatedDevice::CutFrom(size_t server, uint64_t ms) {
  cut_until_ms_[server] = world_.now_ms() + ms;
}

void SimulatedDevice::StepLater(uint64_t ms) {
  world_.After(ms, nullptr, [this, step = ++step_] {
    if (step == step_) Step();
  });
}

void SimulatedDevice::Step() {
  for (;;) {
    if (client_->state() == Client::State::kTrain && !std::exchange(has_rested_, true)) {
      StepLater(world_.Between(100, 3000));  // so long it trains
      return;
    }
    Client::Progress progress = Client::Progress::kAgain;
    if (client_->Step(&progress) != Status::kOk) {
      StepLater(1000);
      return;
    }
    if (progress == Client::Progress::kWait) {
      StepLater(std::clamp<uint64_t>(client_->wait_ms(), 100, 2000));
      return;
    }
    if (progress == Client::Progress::kDone) {
      world_.Violate("{} was told that all is done, and it stays", identity_.id);
      return;
    }
    if (progress == Client::Progress::kSend) {
      Send();
      return;
    }
  }
}

void SimulatedDevice::LoseLink(uint64_t rest_ms) {
  link_ = 0;
  ++request_;
  client_->OnLinkLost();
  if (world_.Happens(0.7)) server_ = 1 - server_;
  StepLater(rest_ms);
}

void SimulatedDevice::Send() {
  const uint64_t number = ++request_;
  if (link_ == 0 && !IsCut()) link_ = servers_[server_]->Serving();
  if (link_ == 0) {
    LoseLink(world_.Between(200, 600));
    return;
  }
  static std::vector<uint8_t> longest(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  const MutableByteSpan out = {longest.data(), longest.size()};
  if (EncodeRequest(client_->request(), kMaxMaxFrame, out, &size) != Status::kOk) {
    world_.Violate("a request cannot be encoded");
  }
  const std::vector<uint8_t> frame(longest.begin(),
                                   longest.begin() + static_cast<std::ptrdiff_t>(size));
  world_.After(kReplyTimeoutMs, nullptr, [this, number] {
    if (number == request_) LoseLink(100);
  });
  const auto delay = [this] {
    return world_.Fails(scenario_.message_late) ? world_.Between(500, 5000) : world_.Between(1, 20);
  };
  const int copies = world_.Fails(scenario_.message_twice) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    if (IsCut() || world_.Fails(scenario_.message_lost)) continue;
    SimulatedServer& server = *servers_[server_];
    world_.After(delay(), &server.process(), [this, &server, number, frame, delay, life = link_] {
      server.Receive(life, index_, frame, [&](std::vector<uint8_t> answer) {
        if (IsCut() || world_.Fails(scenario_.message_lost)) return;
        world_.After(delay(), nullptr,
                     [this, number, answer = std::move(answer)] { OnAnswer(number, answer); });
      });
    });
  }
}

void SimulatedDevice::OnAnswer(uint64_t request, const std::vector<uint8_t>& frame) {
  if (request != request_) return;
  ++request_;
  if (frame.empty()) {
    LoseLink(100);
    return;
  }
  if (world_.Fails(scenario_.reset)) {
    world_.Tell("{}: resets", identity_.id);
    Reset();
    StepLater(world_.Between(500, 5000));
    return;
  }
  Reply reply;
  if (DecodeReply({frame.data() + kFrameHeaderSize, frame.size() - kFrameHeaderSize}, &reply) !=
      Status::kOk) {
    world_.Violate("an answer cannot be decoded");
    return;
  }
  if (reply.kind == Reply::Kind::kTrain) {
    has_rested_ = false;
    witness_.OnTask(servers_[server_]->process(), link_, int64_t{index_} + 1, reply);
  }
  const Status status = client_->OnReply(reply);
  if (status != Status::kOk) world_.Tell("{}: {}", identity_.id, StatusName(status));
  if (reply.kind == Reply::Kind::kTrain && world_.Fails(scenario_.drop_out)) {
    StepLater(world_.Between(5000, 30'000));
  } else {
    StepLater(status == Status::kOk ? 0 : 1000);
  }
}

}  // namespace sotto::server
