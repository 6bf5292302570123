// One attempt at a round: it takes updates from its devices and adds them up. Part of
// sotto::server/round.
//
//   open --Close()--> closed
//
// Several processes can share an attempt. Each process holds the attempt over its part of the
// cohort. Close() returns that part's sum, and the parts merge (aggregate/partial_sum.h). An update
// is decoded when it is complete and added to the sum. Its bytes are then freed.
//
// Which devices check in. A device checks in if it has sent this attempt, or the attempt before it,
// any request, and lacks nothing that the task needs, by its Hello (round/needs.h). A device that
// lacks something is answered in everything as one that is not drawn.
// A server may hold the answer to a Hello until there is work. A held Hello is a request to each
// attempt that opens meanwhile: it is heard again when the attempt opens, all held ones before any
// of them is answered. So it is heard before anybody outside the server can know the draw, as a
// Hello is that arrives; and whether a Hello is held when an attempt opens depends on earlier draws
// only, which the lemma below takes care of.
//   Lemma. Suppose that a device that gets a task sends its next request within the time that
//   an attempt lasts, and that neither whether devices are up nor what they can do depends on a
//   draw. Then the number of devices that check in depends on no draw. Proof: compare a device that
//   is drawn in attempt i with the same device if it is not. Attempts i and i + 1 count both, for
//   the Hello in attempt i. Attempt i + 1 hears both, the one that trains at the latest at the end
//   of its training. So they count the same in every later attempt. Remark: a device that goes down
//   while it trains is counted in one attempt less than if it had not been drawn. PRIVACY.md lists
//   this among what the attempts' numbers tell.
//
// All methods are safe from any thread at any time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/partial_sum.h"
#include "codec/update_codec.h"
#include "downloads/model_codes.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "round/needs.h"
#include "sotto/messages.h"

namespace sotto::server {

enum class MemberState { kInvited, kUploading, kDecoding, kReported, kRejected, kRevoked };

class Attempt {
 public:
  // The configuration and the codes must outlive the attempt.
  //   devices  from which the cohort was drawn; devices that join later wait
  //   task     the task of each drawn device
  //   drawn    indices of the drawn devices that report to this process, ascending
  //   codes    of the job's models; devices train from the newest one
  //   salts    the key of this attempt's salts; absent: nobody gets one, and nobody needs it
  Attempt(const JobConfig& config, SharedDevices devices, const TrainTask& task,
          std::vector<uint32_t> drawn, ModelCodes& codes, std::optional<Key> salts = {});

  const TrainTask& task() const { return task_; }

  // Checks these devices in, which the attempt before this one has heard.
  //   devices  by registry index; empty: none
  void CheckInToo(const std::vector<bool>& devices);

  // The fleet has changed. A drawn device that was revoked counts as one that does not report,
  // unless its update was accepted. The update of a device with another secret begins anew; under
  // private noise it is over for this attempt if any of it has arrived.
  void SetDevices(SharedDevices devices);

  // The devices so far that lack something that the task needs.
  LackCounts Lacking() const;

  // The answer to a device's request.
  //   device   the registry's index of an authenticated device
  //   request  a Hello must have passed RefuseHello()
  // The reply's bytes point into the model's. A closed attempt accepts nothing: it tells a device
  // to wait, or that the device is not in the cohort.
  Reply Answer(uint32_t device, const Request& request);

  // A drawn device has asked for a part of a model. It has checked in with its Hello.
  void NoteAlive(uint32_t device);

  // True if the configuration lets rounds close early, the attempt is open, every drawn device has
  // reported, had its update rejected or said that it lacks something, and at least
  // config.min_devices devices have checked in with this process. There is then no reason to wait
  // longer. With timed reports (Plan::timed_reports) every drawn device that has said Hello must
  // also keep to the report time (kFeatureReportTime): otherwise an early end would tell how long
  // an old device has trained.
  bool IsComplete() const;

  // The drawn devices that have not reported and were silent when one that keeps to the report time
  // speaks, whatever it has trained: it announces its update then, or asks again, and sends the
  // bytes an eighth later. So they, or their network, are down, if they do keep to it. By registry
  // index; empty: there is no report time.
  std::vector<uint32_t> Silent() const;

  // Closes the attempt at the deadline: no update is accepted from now on. Waits for the updates
  // that are being decoded. Call it once.
  PartialSum Close();

 private:
  // A drawn device. The table kMemberStates in attempt_answers.cc says what each state answers.
  //
  //   invited --UpdateBegin--> uploading --last chunk--> decoding --valid--> reported
  //      \-------revoked----------/---> revoked                 \--else---> rejected
  // An update is judged when it is complete and before any coordinate of it is added to the sum
  // (UpdateCodec::Add). A rejected member counts as one that did not report.
  //
  // Salts. A device that can mix a salt into its round key gets one once it has said its nonce, and
  // the same one whenever it announces this update again. In an attempt it gets no second one: it
  // would have a choice of dithers. So another nonce ends the attempt for it (PRIVACY.md, section
  // 8). An attempt is over when its server stops, so the salts need not outlive it.
  struct Member {
    MemberState state = MemberState::kInvited;
    uint8_t nonce[kNonceSize] = {};
    bool takes_salt = false;                      // by its last Hello
    Salt salt;                                    // for this nonce
    std::vector<uint8_t> bytes;                   // received so far
    size_t size = 0;                              // of the complete update, bytes
    std::chrono::steady_clock::time_point heard;  // its last request of this attempt
  };

  size_t IndexOfDrawn(uint32_t device) const;
  Member* FindMember(uint32_t device);
  uint32_t CountUnable() const;
  void Hear(uint32_t device, const Request& request);
  void CheckIn(uint32_t device);
  bool IsOfThisAttempt(const Request& request) const;
  uint32_t ReportInMs() const;
  void Reject(Member& member);
  void BeginAnew(Member& member);
  void DrawSalt(uint32_t device, Member& member);
  Reply OnHello(uint32_t device, const Request& request);
  Reply OnGetModel(uint32_t device, const Request& request);
  Reply OnUpdateBegin(uint32_t device, const Request& request);
  Reply OnUpdateChunk(uint32_t device, const Request& request, std::unique_lock<std::mutex>& lock);
  Reply FinishUpload(uint32_t device, Member& member, std::unique_lock<std::mutex>& lock);
  Verdict Decode(const Device& owner, const Member& member);

  const JobConfig& config_;
  const Demand task_;
  const std::vector<uint32_t> drawn_;
  ModelCodes& codes_;
  const std::unique_ptr<const UpdateCodec> codec_;
  const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  SharedDevices devices_;
  std::condition_variable decoded_;
  bool open_ = true;
  int decoding_ = 0;
  size_t revoked_ = 0;               // members in this state
  std::vector<Member> members_;      // one for each of drawn_, same order
  std::vector<bool> is_checked_in_;  // by registry index
  // By registry index: the device has sent this attempt a request, and lacks nothing.
  std::vector<bool> is_heard_;
  // By their last Hello in this attempt, the devices that lack something, by registry index.
  std::map<uint32_t, Abilities> lacking_;
  std::set<uint32_t> untimed_;  // the drawn devices that do not keep to a report time
  AttemptCounts counts_;
  const std::optional<Key> salts_;
  Accumulator sum_;  // has its own lock: updates are added without mutex_
};

// The refusal of a Hello with another protocol version or another model digest. Absent if an
// attempt may answer the Hello. The latter refusal names the job's model: its bytes are the name's.
//   digest  ModelDigest() of the model
std::optional<Reply> RefuseHello(const Request& hello, const ModelInfo& model, ByteSpan digest);

// The answer to a request while no attempt is open.
//   state  for a Hello
Reply AnswerBetweenAttempts(const Request& request, const JobConfig& config, WaitState state);

// The answer to a request while no job runs.
//   is_done  tells a device that does not stay that its job is done
Reply AnswerWithoutJob(const Request& request, bool is_done, uint32_t wait_ms);

// Whether the device that sends this Hello takes models as differences.
bool TakesDifferences(const Request& hello);

// The answer to kGetModel with a code, at any time: its bytes, kMalformed for an offset behind its
// end, or kWrongAttempt if it is unknown, which may be because the model is an older one by now.
Reply AnswerCode(const Request& request, ModelCodes& codes);

// The answer to kGetDescription, at any time: bytes of config.description, kMalformed for an offset
// behind its end, or kBusy if there is none.
Reply AnswerDescription(const Request& request, const JobConfig& config);

}  // namespace sotto::server
