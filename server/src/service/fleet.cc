#include "service/fleet.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr size_t kNamedChanges = 8;  // of more, the log has the numbers only

std::string Describe(const DeviceChange& change) {
  switch (change.kind) {
    case DeviceChange::Kind::kAdded:
      return "joined";
    case DeviceChange::Kind::kRevoked:
      return "was revoked";
    case DeviceChange::Kind::kRotated:
      return "has a new key";
    case DeviceChange::Kind::kOwned:
      return "belongs to " + change.owner;
  }
  return "changed";
}

bool TakesKey(const DeviceChange& change) {
  return change.kind == DeviceChange::Kind::kRevoked || change.kind == DeviceChange::Kind::kRotated;
}

std::vector<std::string> DescribeChanges(const std::vector<DeviceChange>& changes,
                                         const DeviceRegistry& devices) {
  std::vector<std::string> lines;
  if (changes.size() > kNamedChanges) {
    lines.push_back(Counted(static_cast<int64_t>(changes.size()), "change") + " of the fleet");
  } else {
    for (const DeviceChange& change : changes) {
      lines.push_back(fmt::format("device {} {}", change.device.id, Describe(change)));
    }
  }
  lines.back() +=
      fmt::format("; {} eligible from the next attempt on", Counted(devices.eligible(), "device"));
  return lines;
}

}  // namespace

ServedFleet::ServedFleet(SharedLog& log) : log_(log) {
  log_.With([&](Store& store) {
    auto devices = std::make_shared<DeviceRegistry>(store.LoadDevices());
    devices->Lock();
    devices_ = std::move(devices);
    records_ = std::make_shared<const std::vector<DeviceRecord>>(store.ListDevices());
    former_ = std::make_shared<const FormerKeys>(store.LoadFormerKeys());
    paused_ = store.IsPaused();
  });
}

SharedDevices ServedFleet::devices() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return devices_;
}

std::shared_ptr<const std::vector<DeviceRecord>> ServedFleet::records() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return records_;
}

std::string ServedFleet::TakeWarning() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(warning_, std::string());
}

std::optional<FleetNews> ServedFleet::Watch() {
  std::vector<DeviceChange> changes;
  std::vector<DeviceRecord> records;
  FleetNews news;
  bool is_news = false;
  std::string warning;
  std::optional<std::vector<FormerKey>> former;
  log_.With([&](Store& store) {
    warning = store.TakeWarning();
    changes = store.TakeChanges();
    news.paused = store.IsPaused();
    is_news = !changes.empty() || news.paused != paused_;
    if (!is_news) return;
    const bool are_keys_taken = std::any_of(changes.begin(), changes.end(), TakesKey);
    if (are_keys_taken) former = store.LoadFormerKeys();
    const History history = store.ReadHistory();
    records = history.devices;
    news.spent_before = SpentBefore(history, LastJob(history));
  });
  if (!warning.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    warning_ = std::move(warning);
  }
  if (!is_news) return std::nullopt;
  if (former) news.former = std::make_shared<const FormerKeys>(std::move(*former));
  if (news.paused != paused_) {
    news.lines.push_back(news.paused ? "paused: the open attempt goes on, no other one opens"
                                     : "resumed");
  }
  paused_ = news.paused;
  news.devices = changes.empty() ? devices() : devices()->Changed(changes);
  for (const DeviceChange& change : changes) {
    if (change.kind == DeviceChange::Kind::kOwned) continue;  // its session goes on
    const uint32_t index = news.devices->IndexOf(change.device.id);
    if (index != news.devices->size()) news.changed.push_back(index);
  }
  if (!changes.empty()) {
    for (std::string& line : DescribeChanges(changes, *news.devices)) {
      news.lines.push_back(std::move(line));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  devices_ = news.devices;
  records_ = std::make_shared<const std::vector<DeviceRecord>>(std::move(records));
  return news;
}

}  // namespace sotto::server
