#include "trainee.h"

#include <algorithm>
#include <utility>

#include "connection.h"
#include "sotto/models.h"
#include "sotto/posix/check.h"
#include "sotto/posix/port.h"

namespace sotto::posix {
namespace {

constexpr uint32_t kMaxBatchSize = 1024;

const ModelInfo kNoModel = MakeModelInfo<nn::Sequential<nn::Dense<1, 2>>>("none");

// A device that gives a lost server up does not wait longer than that for an answer.
uint32_t HoldMs(const ClientOptions& options) {
  const double hold_s =
      options.give_up_s > 0 ? std::min(options.hold_s, options.give_up_s / 2) : options.hold_s;
  return static_cast<uint32_t>(hold_s * 1000);
}

// Of nearly any update, and of every fixed-length one.
size_t EncodedSize(const ModelInfo& model) { return 2 * size_t{model.parameters} + kMaxPadding; }

}  // namespace

size_t Trainee::Bytes(const ModelInfo& model) {
  const size_t vectors = 1 + (model.has_momentum ? 1 : 0) + (model.has_gradient_options ? 1 : 0);
  return sizeof(float) * (model.parameters + vectors * model.trained() +
                          model.training_floats(model, kMaxBatchSize)) +
         EncodedSize(model);
}

Trainee::Trainee(const ClientOptions& options, SharedModel model, Share share, const DeviceKey& key,
                 const UpdateLedger& ledger, const PersistentStore& personal,
                 Span<const float> held)
    : model_(std::move(model)),
      share_(std::move(share)),
      samples_(*share_.data, share_.view(), options.held_out),
      held_out_(MakeHeldOut(share_.recorded != nullptr ? share_.recorded->held_out_source()
                                                       : samples_.held_out_source())),
      memory_(net(), kMaxBatchSize, MaxChunkBytes(kMaxFrame), true, true, EncodedSize(net())),
      entropy_(options.seed ? std::optional<SeededEntropy>(key.secret) : std::nullopt),
      personal_(personal),
      client_(MakeConfig(options, key, ledger), memory_.buffers()) {
  if (entropy_) entropy_->Attach(&client_.task());
  if (held.empty()) return;
  const ModelWriter writer = memory_.buffers().writer;
  Check(writer.write(writer.context, held), "the model that is held");
  Check(client_.RestoreModel(), "the check of the model that is held");
}

const ModelInfo& Trainee::net() const { return model_ == nullptr ? kNoModel : *model_; }

ClientConfig Trainee::MakeConfig(const ClientOptions& options, const DeviceKey& key,
                                 const UpdateLedger& ledger) {
  ClientConfig config;
  config.model = &net();
  config.device_id = {reinterpret_cast<const uint8_t*>(key.device_id.data()), key.device_id.size()};
  config.secret = key.secret;
  config.samples = share_.recorded != nullptr ? share_.recorded->source() : samples_.source();
  config.held_out = &held_out_;
  config.store = &personal_;
  config.port = SystemPort();
  if (entropy_) {
    config.port.entropy = SeededEntropy::Fill;
    config.port.context = &*entropy_;
  }
  config.allow_training_without_privacy = options.allow_no_privacy;
  config.min_private_noise_q20 = PrivateNoiseLimitQ20(options.min_private_noise);
  config.ledger = ledger;
  config.most_private_updates = options.max_private_updates;
  config.max_frame = kMaxFrame;
  config.hold_ms = HoldMs(options);
  config.stays = !options.once;
  config.wants_news = !options.keep_model.empty();
  return config;
}

}  // namespace sotto::posix
