#include "round/turn_book.h"

#include <algorithm>
#include <utility>

namespace sotto::server {

TurnBook::TurnBook(const privacy::Plan& plan, TurnsByDevice before,
                   const std::optional<privacy::Turns>& life)
    : plan_(plan), limit_(privacy::LimitOf(plan)), before_(std::move(before)), life_(life) {}

bool TurnBook::IsSealed(uint32_t round, uint32_t attempt) const {
  return std::any_of(seals_.rbegin(), seals_.rend(), [&](const SealRecord& seal) {
    return seal.round == round && seal.attempt == attempt;
  });
}

void TurnBook::Seal(const SealRecord& seal) {
  if (IsSealed(seal.round, seal.attempt)) return;
  const privacy::Turns turn = TurnIn(seal.round);
  for (const int64_t device : seal.devices) {
    Used& used = used_[device];
    used.turns = used.turns + turn;
    used.last_round = std::max(used.last_round, int64_t{seal.round});
  }
  seals_.push_back(seal);
}

bool TurnBook::HasRoom(int64_t device, const privacy::Turns& turn) const {
  return privacy::HasRoom(UsedBy(device), turn, limit_) &&
         (!life_ || privacy::HasRoom(UsedInLifeBy(device), turn, *life_));
}

privacy::Turns TurnBook::UsedInLifeBy(int64_t device) const {
  privacy::Turns used = UsedBy(device);
  const auto add = [&](const TurnsByDevice& turns) {
    const auto found = turns.find(device);
    if (found != turns.end()) used = used + found->second;
  };
  add(before_);
  if (settled_ != nullptr) add(settled_->charged_before);
  return used;
}

privacy::Turns TurnBook::UsedBy(int64_t device) const {
  const auto used = used_.find(device);
  const privacy::Turns turns = used == used_.end() ? privacy::Turns() : used->second.turns;
  if (settled_ == nullptr) return turns;
  const auto charged = settled_->charged.find(device);
  return charged == settled_->charged.end() ? turns : turns + charged->second;
}

int64_t TurnBook::LastRoundOf(int64_t device) const {
  const auto used = used_.find(device);
  return used == used_.end() ? kNoRound : used->second.last_round;
}

}  // namespace sotto::server
