// One attempt at a round: takes updates from its devices and adds them up. Part of
// sotto::server/round.
//
//   open --Close()--> closed
//
// An attempt may be spread over processes: each holds the attempt over a part of the cohort, and
// the sums that they close with merge (aggregate/partial_sum.h). An update is decoded only when it
// is complete, added to the sum, and forgotten. All methods are safe from any thread at any time.
#ifndef SOTTO_ROUND_ATTEMPT_H_
#define SOTTO_ROUND_ATTEMPT_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/partial_sum.h"
#include "codec/update_codec.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "sotto/messages.h"

namespace sotto::server {

enum class MemberState { kInvited, kUploading, kDecoding, kReported, kRejected };

class Attempt {
 public:
  // Configuration, registry and model must outlive it.
  //   task     what the attempt asks of each of its devices
  //   drawn    indices of the drawn devices that report to this process, ascending
  //   model    what they train from: [parameters] little-endian float32
  Attempt(const JobConfig& config, const DeviceRegistry& devices, const TrainTask& task,
          std::vector<uint32_t> drawn, ByteSpan model);

  const TrainTask& task() const { return task_; }

  // The answer to a device's request.
  //   device   the registry's index of an authenticated device
  //   request  a Hello has been checked by RefuseHello()
  // The reply's bytes point into the model. Once closed, nothing is accepted: a device is told to
  // wait, or that it is not in the cohort.
  Reply Answer(uint32_t device, const Request& request);

  // True if the attempt is open, every drawn device has reported or was refused what it sent, and
  // at least config.min_devices checked in with this process: no reason to wait any longer.
  bool IsComplete() const;

  // The deadline: no update is accepted from here on. Waits for those that are being decoded. To be
  // called once.
  PartialSum Close();

 private:
  // A drawn device. What each state answers is the table kMemberStates in attempt_answers.cc.
  //
  //   invited --UpdateBegin--> uploading --last chunk--> decoding --valid--> reported
  //                                                             \--else---> rejected
  struct Member {
    MemberState state = MemberState::kInvited;
    uint8_t nonce[kNonceSize] = {};
    std::vector<uint8_t> bytes;  // received so far
    size_t size = 0;             // of the complete update
  };

  Member* FindMember(uint32_t device);
  void CheckIn(uint32_t device);
  bool IsOfThisAttempt(const Request& request) const;
  void Reject(Member& member);
  Reply OnHello(uint32_t device);
  Reply OnGetModel(uint32_t device, const Request& request);
  Reply OnUpdateBegin(uint32_t device, const Request& request);
  Reply OnUpdateChunk(uint32_t device, const Request& request, std::unique_lock<std::mutex>& lock);
  Reply FinishUpload(uint32_t device, Member& member, std::unique_lock<std::mutex>& lock);
  bool Decode(uint32_t device, const Member& member);

  const JobConfig& config_;
  const DeviceRegistry& devices_;
  const TrainTask task_;
  const std::vector<uint32_t> drawn_;
  const ByteSpan model_;
  const std::unique_ptr<const UpdateCodec> codec_;

  mutable std::mutex mutex_;
  std::condition_variable decoded_;
  bool open_ = true;
  int decoding_ = 0;
  std::vector<Member> members_;      // of drawn_, same order
  std::vector<bool> is_checked_in_;  // by device
  AttemptCounts counts_;
  Accumulator sum_;  // has a lock of its own: updates are added without mutex_
};

// The refusal of a Hello that speaks another version of the protocol or has another model; absent
// if an attempt may answer it.
std::optional<Reply> RefuseHello(const Request& hello, ByteSpan model_digest);

// The answer to a request while no attempt is open.
Reply AnswerBetweenAttempts(const Request& request);

}  // namespace sotto::server

#endif  // SOTTO_ROUND_ATTEMPT_H_
