// The evaluation of a served job's models on the operator's test set. Part of
// sotto::server/service.
//
// An evaluation runs in the server's pool, on one processor less than the machine has, so it delays
// neither the event loop nor the next round. It begins after the publication of its model and reads
// nothing else of the job: when it ends tells nothing of who reported. The store keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/server.h"
#include "store/ledger.h"
#include "store/store.h"

namespace sotto::server {

// A store as the log of a job, of which another thread commits evaluations meanwhile. The store
// must outlive it.
class SharedLog : public JobLog {
 public:
  explicit SharedLog(Store& store) : store_(store) {}

  // Takes what the ledger has of each release, and the job's turns, when it is durable, on the
  // thread that commits it.
  using TakeRelease = std::function<void(LedgerEntry, JobTurns)>;
  void OnRelease(TakeRelease take) { on_release_ = std::move(take); }

  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void SealAttempt(const SealRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;
  void HaltJob(const HaltRecord& record) override;
  ByteSpan ReceiptOf(uint32_t round, uint32_t attempt, int64_t device) override;
  void CheckReceipt(ByteSpan receipt, int64_t device) override;
  bool HasShown(int64_t device) const override;
  const SettledDevices* Settle() override;

  // What the next BeginJob() does: begins a new job or resumes the last one, and answers a request.
  struct NextJob {
    bool begins = false;
    int64_t answers = 0;        // number of a request; 0: none
    std::optional<JobAsk> ask;  // that is recorded with the answer
  };
  void ExpectJob(NextJob next) { next_ = std::move(next); }

  // The figures of an attempt that was published. WriteFigures() writes what was kept, in the pool
  // and before the next job begins, so that no publication waits for it.
  void KeepFigures(RoundRecord record);
  void WriteFigures();

  History ReadHistory();

  // Gives the store to `use` while no other thread has it. A call on the loop's thread also waits
  // for a commit of another process.
  void With(const std::function<void(Store&)>& use);

  // The last evaluation of the store's last job.
  std::optional<StoredEvaluation> LastEvaluation();
  // The model with which that job began; empty: the store has deleted it.
  std::vector<float> FirstModel();
  void CommitEvaluation(uint32_t round, const EvaluatedData& data, const Evaluation& evaluation);

 private:
  Store& store_;
  std::mutex mutex_;
  TakeRelease on_release_;
  NextJob next_;
  std::mutex figures_mutex_;  // guards the next member
  std::vector<RoundRecord> figures_;
};

// The evaluations of one job in one process. Everything that it is given must outlive it. All calls
// come from the thread of Server::Run().
class ServedEvaluations {
 public:
  //   test    absent (null): nothing is evaluated
  //   sha256  of the test set's files, as EvaluatedData has it
  //   every   rounds, at least 1
  //   log     takes lines for people
  // Make it after the job has begun in the store. Throws std::invalid_argument if the test set does
  // not fit the model.
  ServedEvaluations(const JobConfig& config, SharedDataset test, std::string sha256, uint32_t every,
                    SharedLog& store, std::function<void(const std::string&)> log);
  ~ServedEvaluations();

  // What the operator should know if an earlier process evaluated the job on other samples; empty:
  // it did not. Figures on two test sets do not compare.
  std::string OtherDataWarning() const;

  // Takes each evaluation when it is durable.
  using Take = std::function<void(uint32_t round, const EvaluatedData&, const Evaluation&)>;
  void OnEvaluation(Take take) { take_ = std::move(take); }

  // Evaluates the model after this round in the pool, if it is its turn: each round whose number
  // divides by `every`, and the plan's last one.
  //   round  from 0, just released: its model is the job's
  void OnRelease(Server& server, const Job& job, uint32_t round);

  // The same for the last release of an earlier process, which may have ended before it was
  // evaluated.
  void OnStart(Server& server, const Job& job);

  // The same for the last release of a job that is over, whether or not it was its turn.
  void EvaluateLast(Server& server, const Job& job);

  // Evaluates the job's model now, if it was released and is not evaluated yet: the last one of a
  // job that ended before its plan did. Then the model with which the job began, if there was a
  // release and the store had that model when this process began.
  void OnEnd(const Job& job);

  // After OnEnd(): that the training made the model worse, and what to change. Empty: it did not,
  // or not both models are evaluated on this test set.
  std::string ResultWarning() const;

  // {"test_data", "initial_evaluation", "evaluations", "average_evaluation"}: of the model with
  // which the job began, after its end; a list by round; and of the average of the models so far.
  // Nulls without a test set or such a model.
  void AddTo(const Job& job, nlohmann::ordered_json* operators) const;

 private:
  void EvaluateInPool(Server& server, const Job& job, uint32_t round);
  bool IsDue(uint32_t round) const;
  bool IsLastDone(const Job& job) const;
  void Keep(uint32_t round, const Evaluation& evaluation);
  Evaluation EvaluateNow(Span<const float> parameters) const;

  const JobConfig& config_;
  const SharedDataset test_;
  const EvaluatedData data_;
  const uint32_t every_;
  SharedLog& store_;
  const std::function<void(const std::string&)> log_;
  Take take_;
  const std::optional<StoredEvaluation> former_;  // of an earlier process, the last one
  const std::vector<float> first_;      // with which the job began; empty: it will not be evaluated
  std::optional<uint32_t> last_round_;  // that was evaluated
  std::optional<uint32_t> asked_;       // the last round whose evaluation the pool got
  std::optional<Evaluation> last_;      // of that, if on this test set
  std::optional<Evaluation> initial_;   // of `first_`, at the end
  std::vector<nlohmann::ordered_json> evaluations_;
};

}  // namespace sotto::server
