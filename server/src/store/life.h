// A store's life: what each device was charged for in all jobs of the store, and the limit on that.
// Part of sotto::server/store.
//
// A limit on one job promises nothing about the next one: people who see the later models have seen
// the earlier ones. So each device has one sum over all jobs (plans/turns.h, lemma 9), and the
// store may have one limit for these sums, its life epsilon. It is fixed when the store is made, or
// raised by a command; each raise is a record. It is a pair, of mu^2 and of encoded coordinates
// (lemma 10). Lemmas 3 and 9 then hold for all jobs that were ever begun in the store.
//   - A job of passes asks no device whose next turn would exceed it (round/turn_book.h).
//   - With the other samplings, leaving a device out because of its sum would tell who was drawn.
//     So such a job begins only if a device that is drawn in all of its rounds keeps the limit, and
//     that follows from public figures alone.
//   - A job without noise has no epsilon, and does not begin.
// No name, new secret or restart changes a sum: it belongs to the device's number.
//
// Pure functions over records, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "plans/turns.h"
#include "store/records.h"

namespace sotto::server {

// By DeviceRecord::number. A device that is not in it has had no turn.
using TurnsByDevice = std::map<int64_t, privacy::Turns>;

// What the jobs before `job` charged each device for; null: all jobs. Throws std::runtime_error if
// a job's configuration is damaged.
//   colluders  at least this many, in each job, tell their noise
TurnsByDevice TurnsBefore(const History& history, const JobEntry* job, int64_t colluders = 0);

// The largest of each member; the three need not be of one device.
//   eligible  the devices that are not revoked alone
privacy::Turns MostOf(const TurnsByDevice& turns, const History& history, bool eligible);

// What a device of the store can have been charged for at the end of this plan, by public figures:
// in earlier jobs of secret draws it was in every release.
//   job  the one that resumes; null: a new one. Its rounds are the plan's.
privacy::Turns WorstCaseOf(const History& history, const JobEntry* job, const privacy::Plan& plan);

// The store's limit; absent: there is none.
std::optional<privacy::Turns> LifeLimitOf(const History& history,
                                          const privacy::CertificateBounds& certificate);

// The smallest life epsilon with one decimal place whose limit has room for these turns; +infinity:
// there is none.
double LifeEpsilonFor(const privacy::Turns& turns, double delta,
                      const privacy::CertificateBounds& certificate);

// The largest life epsilon up to `epsilon` with room for these turns, rounded down to one decimal
// place; 0: there is none. A larger one can have less room: the encoder's terms grow as e to it.
double LargestLifeEpsilonFor(const privacy::Turns& turns, double epsilon, double delta,
                             const privacy::CertificateBounds& certificate);

// Why a life epsilon is of no use in any store; empty: it may be.
std::string WhyTooLarge(double epsilon, double delta);

// How much a life epsilon leaves to the encoder's terms, for people; empty: enough for nets of
// usual size.
std::string DescribeRoomOf(double epsilon, double delta);

// The delta of a life epsilon that names none: DefaultDelta() of the devices that the store has.
double DefaultLifeDelta(const History& history);

// Why the store must not get this life epsilon, besides what Store::RaiseLifeEpsilon() refuses;
// empty: it may.
//   is_served  a server runs its jobs, by the limit that it found at its start
std::string WhyNotLifeEpsilon(const History& history, double epsilon, double delta, bool is_served);

// That the life epsilon, which has no room for these turns, is too large for them, and what to do.
std::string DescribeTooLarge(const History& history, const privacy::Turns& turns,
                             const privacy::Plan& plan);

// The command that gives the store a limit with room for these turns, or what to do instead.
//   plan  of a job: its delta is the one of a first limit
std::string HowToRaise(const std::string& store, const History& history,
                       const privacy::Turns& turns, const privacy::Plan& plan);

}  // namespace sotto::server
