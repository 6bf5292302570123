// A store whose last state is lost, recovered from an older copy: what the lost part may have
// spent. Part of sotto::server/store.
//
// A recovery is a record. It names the job that the copy ends with, and the life epsilon that the
// copy has; after an earlier recovery that some device had not settled, also the job of that one.
// Each device settles afterwards (device_receipts.h):
//   - by a receipt, and is charged for what the receipt has above the copy;
//   - a device that was registered later has lost nothing.
// Until then it is unshown, and no job asks it. Every total counts it at its cap, CapOf(), and a
// raise of the life epsilon gives it no room: the cap has more coordinates than a larger limit.
//
//   Lemma 1 (with a receipt). round/receipts.h, lemma 2.
//   Lemma 2 (without one, of a store with a life epsilon that the lost part did not raise). What
//     the device was charged for in the copy and the lost part together is within CapOf(). Proof:
//     in both, jobs of passes asked no device beyond the life limit, and a job of another sampling
//     began only if a device that is in each of its releases keeps the limit (life.h). Lost jobs
//     are such jobs, too. So a total at the cap is never below the truth.
//   Lemma 3 (without one, of a store without a life epsilon). In the copy's last job, of passes,
//     the device has had at most K turns, the lost part included, and gets no other one. So the
//     claims of that job, which are limits, hold. What a lost later job took of it has no bound:
//     the device counts as spent without limit. It is in no claim of a later job, since none
//     begins before the device has shown a receipt or is revoked (WhyUnbounded()).
//   Lemma 4 (secret draws). A job of uniform, Poisson or full cohorts does not go on. Its lost
//     rounds drew other cohorts, and how many there were is not known: no amplified figure holds
//     for both. Remark: the known draws of its receipts are turns, which lemma 1 charges.
//   Remark. A life epsilon that the lost part raised breaks lemma 2. A receipt above the cap shows
//     that, and no figure is then cut at the life epsilon (jobs/life_start.cc).
//
// Pure functions over records, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plans/plan.h"
#include "store/life.h"
#include "store/records.h"

namespace sotto::server {

// Whether a job of this plan may go on, or begin, in a recovered store. It asks only devices that
// have shown their receipts. That decides about who is drawn, and a secret draw must not depend on
// it, nor a list that looks at nobody's presence (plans/turns.h, lemma 12).
bool MayRunOnRecovered(const privacy::Plan& plan);

// The devices that have not settled since the last recovery, ascending, revoked ones too.
std::vector<int64_t> UnshownDevices(const History& history);

// The life limit at the last recovery, without a count of turns, with the deltas of this
// certificate; absent: there was no life epsilon, so nothing bounds an unshown device.
std::optional<privacy::Turns> CapOf(const History& history,
                                    const privacy::CertificateBounds& certificate);

// What each device can have been charged for in all jobs, the lost part included: never below the
// truth. mu_squared is infinite for an unshown device without a cap.
TurnsByDevice TurnsAtMost(const History& history, int64_t colluders = 0);

// The most that one device can have been charged for. An unshown device with a cap is left out: it
// is within each life limit from the recovery's on. So is a revoked one without a cap, for which no
// life epsilon speaks.
privacy::Turns MostBounded(const History& history, int64_t colluders = 0);

// What a job of the copy may have spent on these devices beside the turns of its records and its
// own limit, as turns of its kind; absent: nothing. With an unshown device they are so many that
// the life limit takes their place (Plan::life_mu_squared).
//   devices  ascending
//   is_own   for the figure of that job itself: turns of unshown devices in it are in its limit
std::optional<privacy::SpentRounds> LostBeside(const History& history, const JobEntry& job,
                                               const std::vector<int64_t>& devices, bool is_own);

// True if some turns of this job may be of the lost part, so that its limit must be charged.
bool LostSome(const History& history, const JobEntry& job);

// How an unshown device counts, behind "counts": "as if it had spent the life epsilon, 6 at delta
// 1e-05". Of a recovered store.
std::string DescribeCap(const History& history);

// The last recovery, of the job with which its copy ended, and what devices have shown since; for
// the operator. Empty: it is of another job, or there is none.
std::string DescribeRecovery(const History& history, const JobEntry& job);
// The same of whatever job it is. Empty: the store is no recovered copy.
std::string DescribeRecovery(const History& history);

// Why no new job can begin, or no first life epsilon can be set: an eligible device that nothing
// bounds. Empty: there is none.
std::string WhyUnbounded(const History& history);

// Why the claims of the last job do not cover all that was released: for everybody. Empty: they do.
std::string WhyNotForAll(const History& history);

}  // namespace sotto::server
