// Decisions from the records of a store: which job resumes, what is spent, which figures are not
// private. Part of sotto::server/store.
//
// All functions are pure functions over records, except ReadState(), which reads a model. They are
// the same for every store, and tests need no store. Safe from any thread; ReadState() as its
// store.
//
// A job's spending is charged to its devices: all that were eligible while the job ran. A later job
// on any of these devices starts with that spending.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plans/statement.h"
#include "round/job_log.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// The job that can continue: the last one. Null if there is none.
const JobEntry* LastJob(const History& history);

// Of all jobs, released or not.
int64_t AttemptsOf(const History& history);

// The plan with which a job began; without noise for a job without privacy. Throws
// std::runtime_error, naming the store, if the job's configuration is damaged.
privacy::Plan PlanOf(const History& history, const JobEntry& job);

// The number of rounds and the budget that the job has now, with its extensions. Throws as
// PlanOf().
JobExtension PlanNow(const std::string& store, const JobEntry& job);

// What the job's rounds were accounted with. Throws as PlanOf().
JobPhases PhasesOf(const std::string& store, const JobEntry& job);

// What the job has spent, phase by phase. Throws as PlanOf().
std::vector<privacy::SpentRounds> SpentBy(const History& history, const JobEntry& job);

// The turns of the job's devices; none for a job that is not of passes. Throws as PlanOf().
JobTurns TurnsOf(const History& history, const JobEntry& job);

// Why the job opens no attempt, if it has opened none since. Absent: it was not halted, or
// something has changed. Throws as PlanOf().
std::optional<HaltEntry> HaltOf(const History& history, const JobEntry& job);

// How the job ended: its last halt is an end and nothing has changed since, all its rounds are
// released, or another job began after it. Absent: it can go on. Throws as PlanOf().
std::optional<HaltEntry> EndOf(const History& history, const JobEntry& job);

// With the last job, if it runs, as if it had released all its rounds: a job that is queued comes
// after it, and no figure that somebody agrees to may rise by that.
//   after  even if it has released none: the job that is queued does not replace it
History AfterTheJobThatRuns(History history, bool after);

// The owners of the store's devices, and whether two devices of one owner have shared a cohort:
// found in the turns of a job of passes, and assumed of every other job that released something.
privacy::Owners OwnersOf(const History& history);

// Of a recovered copy: who has settled, and what devices were charged for in this job; absent: the
// store is none.
std::optional<SettledDevices> SettledIn(const History& history, const JobEntry& job);

// Numbers of the earlier jobs that share devices with a job. The job's figures include theirs.
std::vector<int64_t> JobsBefore(const History& history, const JobEntry& job);

// What earlier jobs have spent on the devices of a job and on the devices eligible now. Its turns
// are the most that one of these devices had, phase by phase.
//   job  the job to resume; null: a new job, whose devices are the ones eligible now
// Throws as PlanOf().
std::vector<privacy::SpentRounds> SpentBefore(const History& history, const JobEntry* job);

// The same for all devices that the job ever had, and no others.
std::vector<privacy::SpentRounds> SpentByJobsBefore(const History& history, const JobEntry& job);

// The same for the devices with which the job began: its noise was calibrated to that.
std::vector<privacy::SpentRounds> SpentAtBeginning(const History& history, const JobEntry& job);

// True if a figure of this job's next release rests on noise that derives from a seed: an eligible
// device is seeded, or a release of this job or of an earlier job with common devices was seeded. A
// figure over many rounds holds only if the noise of every round is private.
bool RestsOnSeededNoise(const History& history, const JobEntry& job);

// The claims that a ledger keeps of a release: the claims of its statement. A release without
// claims gets the two claims that every statement has, with an infinite epsilon, so that no reader
// overlooks it.
std::vector<privacy::Claim> ClaimsToKeep(const ReleaseRecord& record);

// The plan of the release's own round. Accounting it for n rounds gives the guarantee of n rounds
// like this one.
privacy::Plan PlanOfRound(const ReleaseRecord& record);

// Decides what BeginJob() does with a record. Returns the job of the history that the record
// resumes, perhaps with more rounds or a larger budget; null if the record begins a new job.
//   may_begin  a new job was allowed
// Throws std::runtime_error that names the store if the record must resume the last job but belongs
// to another job, or has another configuration. In the second case the message names the field.
const JobEntry* JobToResume(const History& history, const JobRecord& record, bool may_begin);

// True if the record is of the last job, begun with exactly these options, which has rounds left.
//   or_is_over  true also if it has none left
bool GoesOnWithLastJob(const History& history, const JobRecord& record, bool or_is_over);

// A job's state between two rounds.
//   model  the model after the job's last released round, or the one with which it began
JobState StateOf(const std::string& store, const JobEntry& job, const StoredModel& model);

// The same for Job's constructor, with the model read from the store. Absent for a null job, which
// is a new job.
std::optional<JobState> ReadState(Store& store, const JobEntry* job);

}  // namespace sotto::server
