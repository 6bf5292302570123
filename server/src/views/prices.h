// What an act would change of the claims of a store's job, before it is done. Part of
// sotto::server/views.
//
// An act is a change of the records: more devices, a device less, more rounds. So the claims after
// it are the claims of the changed history, by the function that gives those before it:
//   History after = history;
//   AddEligible(3, &after);
//   const Price price = PriceOf(history, after);
//   fmt::print("{}", price.text);
//   if (price.moves ? !GoOn(o.consent, "add them?") : !MayAct(o.consent)) return;
//
// Pure functions over records, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plans/claim.h"
#include "store/records.h"

namespace sotto::server {

// The claims of the last job once all its rounds are released, if the fleet stays as it is. Upper
// bounds, as the ledger will have them. Empty: there is no job, or it has no noise.
std::vector<privacy::Claim> PlannedClaims(const History& history);

struct Price {
  bool moves = false;  // a figure gets larger or smaller
  std::string text;    // whole lines; empty if no job has rounds left, or it claims nothing
};

Price PriceOf(const History& before, const History& after);

// The acts.
void AddEligible(int64_t devices, History* history);
void Revoke(const std::string& id, History* history);
void Extend(const JobExtension& extension, History* history);

// What the last job promised before it got these rounds and this budget, and after, in one line;
// empty if it has them already. For a server, which can ask nobody.
std::string DescribeExtension(const History& history, const JobExtension& extension);

// What a larger life epsilon allows each device, in lines. The first one of a store takes nothing
// back, so it is no price: empty.
std::string PriceOfLife(const History& history, double epsilon);

// What would hold if this older copy were recovered (store/recovery.h), in lines.
std::string DescribeCopy(const History& history);

}  // namespace sotto::server
