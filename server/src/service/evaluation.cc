#include "service/evaluation.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "store/history.h"
#include "views/figures.h"
#include "views/training_warnings.h"

namespace sotto::server {

void SharedLog::With(const std::function<void(Store&)>& use) {
  const std::lock_guard<std::mutex> lock(mutex_);
  use(store_);
}

void SharedLog::KeepFigures(RoundRecord record) {
  const std::lock_guard<std::mutex> lock(figures_mutex_);
  figures_.push_back(std::move(record));
}

void SharedLog::WriteFigures() {
  std::vector<RoundRecord> records;
  {
    const std::lock_guard<std::mutex> lock(figures_mutex_);
    records.swap(figures_);
  }
  if (records.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const RoundRecord& record : records) store_.CommitFigures(record);
}

History SharedLog::ReadHistory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return store_.ReadHistory();
}

void SharedLog::BeginJob(const JobRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_.begins) store_.AllowNewJob();
  if (next_.answers != 0) store_.AnswerWithNextJob(next_.answers);
  if (next_.ask) store_.AnswerWithNextJob(*next_.ask);
  next_ = {};
  store_.BeginJob(record);
}

void SharedLog::CommitAttempt(const AttemptRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_.CommitAttempt(record);
}

void SharedLog::SealAttempt(const SealRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_.SealAttempt(record);
}

void SharedLog::CommitRelease(const ReleaseRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_.CommitRelease(record);
  if (!on_release_) return;
  const History history = store_.ReadHistory();
  const JobEntry& job = *LastJob(history);
  on_release_(EntryOf(job.number, record, record.seeded || RestsOnSeededNoise(history, job)),
              TurnsOf(history, job));
}

void SharedLog::HaltJob(const HaltRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_.HaltJob(record);
}

const SettledDevices* SharedLog::Settle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return store_.Settle();
}

// These three are safe from any thread.
ByteSpan SharedLog::ReceiptOf(uint32_t round, uint32_t attempt, int64_t device) {
  return store_.ReceiptOf(round, attempt, device);
}
void SharedLog::CheckReceipt(ByteSpan receipt, int64_t device) {
  store_.CheckReceipt(receipt, device);
}
bool SharedLog::HasShown(int64_t device) const { return store_.HasShown(device); }

std::optional<StoredEvaluation> SharedLog::LastEvaluation() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const History history = store_.ReadHistory();
  const JobEntry* job = LastJob(history);
  if (job == nullptr) return std::nullopt;
  std::optional<StoredEvaluation> last;
  for (StoredEvaluation& each : store_.Evaluations()) {
    if (each.job == job->number) last = std::move(each);
  }
  return last;
}

std::vector<float> SharedLog::FirstModel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t job = LastJob(store_.ReadHistory())->number;
  const std::vector<int64_t> rounds = store_.ListModels(job);
  if (rounds.empty() || rounds.front() != kFirstModel) return {};
  return store_.ReadModel(job, kFirstModel).parameters;
}

void SharedLog::CommitEvaluation(uint32_t round, const EvaluatedData& data,
                                 const Evaluation& evaluation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_.CommitEvaluation(round, data, evaluation);
}

ServedEvaluations::ServedEvaluations(const JobConfig& config, SharedDataset test,
                                     std::string sha256, uint32_t every, SharedLog& store,
                                     std::function<void(const std::string&)> log)
    : config_(config),
      test_(std::move(test)),
      data_{test_ ? test_->name() : "", std::move(sha256),
            test_ ? test_->info().class_names : std::vector<std::string>()},
      every_(every),
      store_(store),
      log_(std::move(log)),
      former_(store.LastEvaluation()),
      first_(test_ ? store.FirstModel() : std::vector<float>()) {
  if (former_) last_round_ = former_->round;
  if (former_ && former_->data.sha256 == data_.sha256) last_ = former_->evaluation;
  if (test_) RequireEvaluable(*config_.model, *test_);
}

ServedEvaluations::~ServedEvaluations() = default;

std::string ServedEvaluations::OtherDataWarning() const {
  if (!test_ || !former_ || former_->data.sha256 == data_.sha256) return "";
  const auto describe = [](const EvaluatedData& data) {
    return data.name + (data.sha256.empty() ? "" : fmt::format(" (SHA-256 {})", data.sha256));
  };
  return fmt::format(
      "round {} was evaluated on {}, and later rounds will be on {}: figures on "
      "two test sets do not compare; stop, and start again with the former samples, or read the "
      "figures from here on by themselves",
      former_->round + 1, describe(former_->data), describe(data_));
}

bool ServedEvaluations::IsDue(uint32_t round) const {
  return (round + 1) % every_ == 0 || round + 1 == static_cast<uint32_t>(config_.plan.rounds);
}

void ServedEvaluations::OnRelease(Server& server, const Job& job, uint32_t round) {
  if (test_ && IsDue(round)) EvaluateInPool(server, job, round);
}

void ServedEvaluations::EvaluateInPool(Server& server, const Job& job, uint32_t round) {
  struct Piece {
    std::vector<float> parameters;
    std::optional<Evaluation> evaluation;
  };
  asked_ = round;
  const auto piece = std::make_shared<Piece>();
  piece->parameters.assign(job.parameters().begin(), job.parameters().end());
  PoolWork work;
  work.run = [this, piece, round](const std::atomic<bool>& must_stop) {
    piece->evaluation = EvaluateUnlessStopped(
        *config_.model, {piece->parameters.data(), piece->parameters.size()}, *test_,
        std::max(1, config_.process.threads - 1), [&] { return must_stop.load(); });
    if (piece->evaluation) store_.CommitEvaluation(round, data_, *piece->evaluation);
  };
  work.then = [this, piece, round] {
    if (piece->evaluation) Keep(round, *piece->evaluation);
  };
  server.RunInPool(std::move(work));
}

bool ServedEvaluations::IsLastDone(const Job& job) const {
  return job.round() == 0 || last_round_ == job.round() - 1;
}

void ServedEvaluations::OnStart(Server& server, const Job& job) {
  if (test_ && !IsLastDone(job)) OnRelease(server, job, job.round() - 1);
}

void ServedEvaluations::EvaluateLast(Server& server, const Job& job) {
  if (!test_ || IsLastDone(job) || asked_ == job.round() - 1) return;
  EvaluateInPool(server, job, job.round() - 1);
}

void ServedEvaluations::OnEnd(const Job& job) {
  if (!test_ || job.round() == 0) return;
  if (!IsLastDone(job)) {
    const Evaluation evaluation = EvaluateNow(job.parameters());
    store_.CommitEvaluation(job.round() - 1, data_, evaluation);
    Keep(job.round() - 1, evaluation);
  }
  if (!first_.empty()) initial_ = EvaluateNow({first_.data(), first_.size()});
}

std::string ServedEvaluations::ResultWarning() const {
  if (!initial_ || !last_) return "";
  return WorseWarning(config_, *initial_, *last_);
}

Evaluation ServedEvaluations::EvaluateNow(Span<const float> parameters) const {
  return Evaluate(*config_.model, parameters, *test_, std::max(1, config_.process.threads));
}

void ServedEvaluations::Keep(uint32_t round, const Evaluation& evaluation) {
  last_round_ = round;
  last_ = evaluation;
  nlohmann::ordered_json json = {{"round", round + 1}};
  json.update(EvaluationToJson(evaluation, test_->info()));
  evaluations_.push_back(json);
  if (take_) take_(round, data_, evaluation);
  const std::string classes = DescribeClasses(evaluation, test_->info());
  log_(fmt::format("round {}/{} evaluated: {}; {} samples of {}{}{}", round + 1,
                   config_.plan.rounds, DescribeEvaluation(evaluation), evaluation.samples,
                   test_->name(), classes.empty() ? "" : "; by class ", classes));
}

void ServedEvaluations::AddTo(const Job& job, nlohmann::ordered_json* operators) const {
  (*operators)["test_data"] = test_ ? nlohmann::ordered_json(test_->name()) : nullptr;
  (*operators)["initial_evaluation"] =
      initial_ ? EvaluationToJson(*initial_, test_->info()) : nullptr;
  (*operators)["evaluations"] = test_ ? nlohmann::ordered_json(evaluations_) : nullptr;
  (*operators)["average_evaluation"] = nullptr;
  const std::vector<float> average = job.Average();
  if (!test_ || average.empty()) return;
  (*operators)["average_evaluation"] =
      EvaluationToJson(EvaluateNow({average.data(), average.size()}), test_->info());
}

}  // namespace sotto::server
