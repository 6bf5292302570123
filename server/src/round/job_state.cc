// How a job begins, is resumed, and is kept.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>

#include "round/job.h"
#include "sotto/initial_weights.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

// Null as an owner: another one keeps the model.
std::shared_ptr<const ModelInfo> SharedModelOf(const JobConfig& config) {
  return {config.owned_model, config.model};
}

}  // namespace

// Initial weights are public: every device gets them. They tell nothing about the noise, because
// HKDF under a separate label makes their key independent of all other keys. A resumed job takes
// them from its log: this process has another server key.
void Job::BeginWithInitialModel(const std::optional<JobState>& resume) {
  std::optional<Key> key;
  std::vector<float> parameters = config_.initial_parameters;
  if (parameters.empty()) {
    key = posix::DeriveKey(server_key_, key_label::kWeights);
    parameters.resize(config_.model->parameters);
    posix::Check(InitialWeights(*config_.model, *key, {parameters.data(), parameters.size()}),
                 "the initial weights");
  }
  parameters_ = std::make_shared<const std::vector<float>>(std::move(parameters));
  codes_ = resume ? resume->codes : nullptr;
  if (resume) key.reset();
  if (codes_ == nullptr) codes_ = std::make_shared<ModelCodes>(SharedModelOf(config_), key);
}

void Job::Resume(const JobState& state) {
  if (int64_t{state.next_round} > int64_t{config_.plan.rounds}) {
    throw std::runtime_error("the stored state has released more rounds than the job has");
  }
  if (!state.heard.empty() && state.heard.size() != devices_->size()) {
    throw std::runtime_error("the stored state has another number of devices than the job's");
  }
  if (!turns_ && !state.seals.empty()) {
    throw std::runtime_error("the stored state has turns, and the job is not of passes");
  }
  if (state.parameters.size() != parameters_->size()) {
    throw std::runtime_error("the stored model has another number of parameters than the job's");
  }
  parameters_ = std::make_shared<const std::vector<float>>(state.parameters);
  optimiser_->Restore({state.optimiser_state.data(), state.optimiser_state.size()});
  if (state.clip_l2 != 0) clip_l2_ = static_cast<float>(state.clip_l2);
  attempt_ = state.next_attempt;
  heard_before_ = state.heard;
  for (const SealRecord& seal : state.seals) turns_->Seal(seal);
}

JobState Job::State() const {
  JobState state;
  std::copy(std::begin(job_id_), std::end(job_id_), state.job_id);
  state.next_round = round_;
  state.next_attempt = attempt_;
  state.attempts = attempts_;
  state.parameters = *parameters_;
  state.optimiser_state = optimiser_->State();
  state.clip_l2 = static_cast<double>(clip_l2_);
  state.heard = heard_before_;
  state.phases = budget_.phases();
  if (turns_) state.seals = turns_->seals();
  state.planned = static_cast<uint32_t>(config_.plan.rounds);
  state.codes = codes_;
  return state;
}

}  // namespace sotto::server
