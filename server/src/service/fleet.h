// What other commands change while `sotto serve` runs: devices that join, leave or get another key,
// and a pause. Part of sotto::server/service.
//
// Watch() runs in the server's pool, devices() on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "net/server.h"
#include "service/evaluation.h"

namespace sotto::server {

class ServedFleet {
 public:
  // The log must outlive the fleet. Loads the devices of its store and locks them in memory.
  explicit ServedFleet(SharedLog& log);

  // The eligible devices as Watch() last saw them.
  SharedDevices devices() const;

  // All devices of the store, as Watch() last saw them; never null.
  std::shared_ptr<const std::vector<DeviceRecord>> records() const;

  // The keys that open nothing any more, at the start.
  SharedFormerKeys former() const { return former_; }

  // ServerEvents::watch.
  std::optional<FleetNews> Watch();

  // What Watch() has seen that the operator should know, once; empty: nothing.
  std::string TakeWarning();

  // Whether the store's jobs are paused, as Watch() last saw it.
  bool is_paused() const { return paused_; }

 private:
  SharedLog& log_;
  mutable std::mutex mutex_;  // guards the next three members
  std::string warning_;
  SharedDevices devices_;
  std::shared_ptr<const std::vector<DeviceRecord>> records_;
  SharedFormerKeys former_;
  bool paused_ = false;
};

}  // namespace sotto::server
