// What the records of a store mean: what resumes, what is spent, what is not private. Part of
// sotto::server/store.
//
// Pure functions over records (but ReadState, which reads a model): the same for every store, and
// tested without one.
//
// What a job spends is charged to its devices, those that were eligible while it ran. A later job
// on any of them starts from there.
#ifndef SOTTO_STORE_HISTORY_H_
#define SOTTO_STORE_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "round/job_log.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// The job that goes on: the last one. Null if there is none.
const JobEntry* LastJob(const History& history);

// The plan that a job began with. A job without privacy is a plan without noise. Throws
// std::runtime_error, naming the store, if the job's configuration is damaged.
privacy::Plan PlanOf(const History& history, const JobEntry& job);

// Numbers of the earlier jobs that share devices with a job: its figures include theirs.
std::vector<int64_t> JobsBefore(const History& history, const JobEntry& job);

// What earlier jobs have spent on any device that was a job's own or is eligible now.
//   job  the job that is to be resumed; null: a new one, whose devices are those eligible now
// Throws as PlanOf().
std::vector<privacy::SpentRounds> SpentBefore(const History& history, const JobEntry* job);

// True if a figure of this job's next release rests on noise that derives from a seed: an eligible
// device is seeded, or a release of this job or of one before it was. A figure over many rounds is
// worth no more than the noise of each of them.
bool RestsOnSeededNoise(const History& history, const JobEntry& job);

// The claims that a ledger keeps of a release: those of its statement. A release without any gets
// the two that every statement has, with an infinite epsilon, so that no reader overlooks it.
std::vector<privacy::Claim> ClaimsToKeep(const ReleaseRecord& record);

// The plan of the release's own round: accounting it for a number of rounds gives the guarantee of
// so many rounds like this one.
privacy::Plan PlanOfRound(const ReleaseRecord& record);

// Decides what BeginJob() does with a record. Returns the job of the history that the record
// resumes; null if it begins a new one.
//   may_begin  a new job was allowed
// Throws std::runtime_error, naming the store, if the last job goes on and the record is of another
// one, or of the same one with another configuration; the message then names the field.
const JobEntry* JobToResume(const History& history, const JobRecord& record, bool may_begin);

// A job's state between two rounds.
//   model  after the job's last released round; null if it has released nothing
JobState StateOf(const JobEntry& job, const StoredModel* model);

// The same, with the model read from the store, for Job's constructor; nothing for a null job,
// which is a new one.
std::optional<JobState> ReadState(Store& store, const JobEntry* job);

}  // namespace sotto::server

#endif  // SOTTO_STORE_HISTORY_H_
