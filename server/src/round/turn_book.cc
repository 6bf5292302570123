#include "round/turn_book.h"

#include <algorithm>

namespace sotto::server {

TurnBook::TurnBook(const privacy::Plan& plan) : plan_(plan), limit_(privacy::LimitOf(plan)) {}

void TurnBook::Seal(const SealRecord& seal) {
  const bool is_known = std::any_of(seals_.begin(), seals_.end(), [&](const SealRecord& other) {
    return other.round == seal.round && other.attempt == seal.attempt;
  });
  if (is_known) return;
  const privacy::Turns turn = TurnIn(seal.round);
  for (const int64_t device : seal.devices) {
    Used& used = used_[device];
    used.turns = used.turns + turn;
    used.last_round = std::max(used.last_round, int64_t{seal.round});
  }
  seals_.push_back(seal);
}

bool TurnBook::HasRoom(int64_t device, const privacy::Turns& turn) const {
  return privacy::HasRoom(UsedBy(device), turn, limit_);
}

privacy::Turns TurnBook::UsedBy(int64_t device) const {
  const auto used = used_.find(device);
  return used == used_.end() ? privacy::Turns() : used->second.turns;
}

int64_t TurnBook::LastRoundOf(int64_t device) const {
  const auto used = used_.find(device);
  return used == used_.end() ? kNoRound : used->second.last_round;
}

}  // namespace sotto::server
