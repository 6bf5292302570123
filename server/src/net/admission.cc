#include "net/admission.h"

#include <algorithm>

namespace sotto::server {
namespace {

// Small limits are shared by the addresses as they come.
constexpr size_t kLeastStrangersPerAddress = 64;

}  // namespace

Admission::Admission(const AdmissionLimits& limits)
    : limits_(limits),
      strangers_per_address_(std::max(limits.connections / 4, kLeastStrangersPerAddress)),
      kept_(limits.handshakes / 2) {}

bool Admission::IsFavoured(const Source& source, uint64_t now_ms) {
  return !source.devices.empty() && (source.proved > 0 || now_ms < source.favoured_until_ms);
}

// Silent strangers leave before strangers that wait, and both before strangers of favoured
// addresses.
std::pair<int, Admission::Id> Admission::RankOf(const Entry& entry, Id id) {
  return {(entry.favoured ? 2 : 0) + (entry.stage == Stage::kWaiting ? 1 : 0), id};
}

Admission::Room Admission::RoomFor(const Address& from, bool is_proxy, uint64_t now_ms) const {
  const auto found = sources_.find(from);
  if (found != sources_.end() && !is_proxy) {
    const Source& source = found->second;
    if (source.silent.size() + source.waiting.size() >= strangers_per_address_) {
      return {true, source.silent.empty() ? *source.waiting.begin() : *source.silent.begin()};
    }
  }
  if (entries_.size() < limits_.connections) return {true, 0};
  if (!evictable_.empty()) return {true, OldestSilent()};
  const bool is_stalled =
      !handshakes_.empty() && now_ms >= entries_.at(handshakes_.front()).handshake_ms + kStallMs;
  return {is_stalled, is_stalled ? handshakes_.front() : 0};
}

Admission::Id Admission::Enter(const Address& from, uint64_t now_ms) {
  const Id id = ++last_id_;
  const auto source = sources_.try_emplace(from).first;
  Entry entry;
  entry.source = source;
  entry.entered_ms = now_ms;
  entry.favoured = IsFavoured(source->second, now_ms);
  ++source->second.connections;
  Place(source, now_ms);
  entries_.emplace(id, entry);
  try {
    unproved_.insert(id);
    evictable_.insert(RankOf(entry, id));
    source->second.silent.insert(id);
  } catch (...) {
    Leave(id, now_ms);
    throw;
  }
  return id;
}

void Admission::OnClientHello(Id id, std::optional<uint32_t> device, uint64_t now_ms) {
  Entry& entry = entries_.at(id);
  if (entry.stage != Stage::kSilent) return;
  evictable_.erase(RankOf(entry, id));
  entry.source->second.silent.erase(id);
  entry.stage = Stage::kWaiting;
  if (device && Announce(id, entry, *device, now_ms)) return;
  evictable_.insert(RankOf(entry, id));
  entry.source->second.waiting.insert(id);
  Place(entry.source, now_ms);
}

// Returns false if the device has announced enough connections.
bool Admission::Announce(Id id, Entry& entry, uint32_t device, uint64_t now_ms) {
  Announcements& of_device = announced_of_[device];
  if (of_device.open == kAnnouncedPerDevice || !of_device.rate.IsFree(kSessionRate, now_ms)) {
    return false;
  }
  of_device.rate.Take(kSessionRate, now_ms);
  ++of_device.open;
  entry.announced = device;
  entry.favoured = true;
  announced_.insert(id);
  return true;
}

// The list in which an address belongs; for the lists by time also that time.
Admission::List Admission::ListFor(const Source& source, uint64_t now_ms, uint64_t* time_ms) const {
  if (source.connections == 0) {
    *time_ms = std::max(source.failures.used_until_ms(),
                        source.devices.empty() ? 0 : source.favoured_until_ms);
    return List::kForgotten;
  }
  if (source.waiting.empty() || source.handshakes >= limits_.handshakes_per_address) {
    return List::kNone;
  }
  *time_ms = source.failures.FreeAt(kFailureRate, now_ms);
  if (*time_ms > now_ms) return List::kPenalised;
  return IsFavoured(source, now_ms) ? List::kFavoured : List::kStrangers;
}

// Moves an address to the list in which it belongs. In a list of turns it goes to the end, or keeps
// its place.
void Admission::Place(Sources::iterator place, uint64_t now_ms) {
  Source& source = place->second;
  uint64_t key = 0;
  const List list = ListFor(source, now_ms, &key);
  const bool takes_turns = list == List::kFavoured || list == List::kStrangers;
  if (list == source.list && (takes_turns || list == List::kNone)) return;
  if (source.list != List::kNone) Queue(source.list).erase({source.key, place->first});
  source.list = list;
  source.key = takes_turns ? ++last_turn_ : key;
  if (list != List::kNone) Queue(list).insert({source.key, place->first});
}

bool Admission::HasPlaceFor(List list) const {
  if (handshakes_.size() >= limits_.handshakes) return false;
  return list == List::kFavoured || stranger_handshakes_ < limits_.handshakes - kept_;
}

Admission::Id Admission::NextHandshake(uint64_t now_ms) {
  auto& penalised = Queue(List::kPenalised);
  while (!penalised.empty() && penalised.begin()->first <= now_ms) {
    Place(sources_.find(penalised.begin()->second), now_ms);
  }
  if (!announced_.empty() && HasPlaceFor(List::kFavoured)) return BeginAnnounced(now_ms);
  for (const List list : {List::kFavoured, List::kStrangers}) {
    if (!Queue(list).empty() && HasPlaceFor(list)) return Begin(list, now_ms);
  }
  return 0;
}

Admission::Id Admission::BeginAnnounced(uint64_t now_ms) {
  const Id id = *announced_.begin();
  Entry& entry = entries_.at(id);
  announced_.erase(id);
  StartHandshake(id, entry, now_ms);
  Place(entry.source, now_ms);
  return id;
}

Admission::Id Admission::Begin(List list, uint64_t now_ms) {
  const auto place = sources_.find(Queue(list).begin()->second);
  Source& source = place->second;
  const Id id = *source.waiting.begin();
  Entry& entry = entries_.at(id);
  evictable_.erase(RankOf(entry, id));
  source.waiting.erase(id);
  entry.favoured = list == List::kFavoured;
  StartHandshake(id, entry, now_ms);
  Queue(list).erase(Queue(list).begin());  // the next turn is another address's
  source.list = List::kNone;
  Place(place, now_ms);
  return id;
}

void Admission::StartHandshake(Id id, Entry& entry, uint64_t now_ms) {
  ++entry.source->second.handshakes;
  entry.stage = Stage::kHandshake;
  entry.handshake_ms = now_ms;
  handshakes_.push_back(id);
  if (!entry.favoured) ++stranger_handshakes_;
}

void Admission::EndHandshake(Id id, Entry& entry) {
  handshakes_.erase(std::find(handshakes_.begin(), handshakes_.end(), id));
  if (!entry.favoured) --stranger_handshakes_;
  --entry.source->second.handshakes;
}

void Admission::EndAnnouncement(Id id, Entry& entry) {
  if (!entry.announced) return;
  announced_.erase(id);
  --announced_of_.at(*entry.announced).open;
  entry.announced.reset();
}

void Admission::OnProof(Id id, uint32_t device, uint64_t now_ms) {
  Entry& entry = entries_.at(id);
  if (entry.stage != Stage::kHandshake) return;
  EndHandshake(id, entry);
  EndAnnouncement(id, entry);
  unproved_.erase(id);
  entry.stage = Stage::kProved;
  ++entry.source->second.proved;
  Favour(entry.source, device, now_ms);
  Bucket& sessions = devices_.at(device).sessions;
  if (!sessions.IsFree(kSessionRate, now_ms)) {
    entry.source->second.failures.Take(kFailureRate, now_ms);
  } else {
    sessions.Take(kSessionRate, now_ms);
  }
  Place(entry.source, now_ms);
}

// `source` has a connection.
void Admission::Favour(Sources::iterator source, uint32_t device, uint64_t now_ms) {
  const auto [found, is_new] = devices_.try_emplace(device, Device{source->first, {}});
  if (!is_new && found->second.address != source->first) {
    const auto former = sources_.find(found->second.address);
    former->second.devices.erase(device);
    Place(former, now_ms);
    found->second.address = source->first;
  }
  source->second.devices.insert(device);
}

void Admission::Leave(Id id, uint64_t now_ms) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  Source& source = entry.source->second;
  if (entry.stage == Stage::kSilent || entry.stage == Stage::kWaiting) {
    evictable_.erase(RankOf(entry, id));
    source.silent.erase(id);
    source.waiting.erase(id);
  }
  if (entry.stage == Stage::kHandshake) {
    EndHandshake(id, entry);
    source.failures.Take(kFailureRate, now_ms);
  }
  if (entry.stage == Stage::kProved) {
    --source.proved;
    source.favoured_until_ms = now_ms + kFavourMs;
  }
  EndAnnouncement(id, entry);
  unproved_.erase(id);
  --source.connections;
  Place(entry.source, now_ms);
  entries_.erase(found);
}

// At most limits_.handshakes steps.
Admission::Id Admission::Stalled(uint64_t now_ms) const {
  for (const Id id : handshakes_) {
    const Entry& entry = entries_.at(id);
    if (now_ms < entry.handshake_ms + kStallMs) return 0;
    const Source& source = entry.source->second;
    const bool own_address_waits =
        !source.waiting.empty() && source.handshakes >= limits_.handshakes_per_address;
    const bool strangers_wait =
        !entry.favoured && !Queue(List::kStrangers).empty() && !HasPlaceFor(List::kStrangers);
    const bool favoured_wait =
        !(announced_.empty() && Queue(List::kFavoured).empty()) && !HasPlaceFor(List::kFavoured);
    if (own_address_waits || strangers_wait || favoured_wait) return id;
  }
  return 0;
}

Admission::Id Admission::Overdue(uint64_t before_ms) const {
  if (unproved_.empty()) return 0;
  const Id oldest = *unproved_.begin();
  return entries_.at(oldest).entered_ms < before_ms ? oldest : 0;
}

void Admission::Sweep(uint64_t now_ms, size_t most) {
  auto& forgotten = Queue(List::kForgotten);
  for (; most > 0 && !forgotten.empty() && forgotten.begin()->first <= now_ms; --most) {
    const auto source = sources_.find(forgotten.begin()->second);
    for (const uint32_t device : source->second.devices) devices_.erase(device);
    forgotten.erase(forgotten.begin());
    sources_.erase(source);
  }
}

}  // namespace sotto::server
