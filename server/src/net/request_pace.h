// When a device's requests are answered. Part of sotto::server/net.
//
// A server answers a request late rather than not at all: until it has answered, it reads nothing
// more of this device. So a device cannot ask faster than the rates below, in however many
// connections one after the other, and a device that goes over a rate by accident loses nothing but
// time.
//
//   - All requests, those for parts of a description too: kRequestRate. An honest device is slower
//     but for the chunks of a small model.
//   - A Hello before the wait is over that the last reply stated: kEarlyHelloRate, for devices that
//     were reset. Beyond it the answer comes when the wait is over.
//
// One thread at a time. The caller passes the time.
#pragma once

#include <cstdint>
#include <vector>

#include "net/rates.h"
#include "sotto/messages.h"

namespace sotto::server {

constexpr Rate kRequestRate = {2, 2000};     // 500 a second
constexpr Rate kEarlyHelloRate = {1000, 8};  // one a second
constexpr uint64_t kLongestDelayMs = 2000;   // of a Hello; devices wait longer for an answer

class RequestPace {
 public:
  explicit RequestPace(size_t devices) : devices_(devices) {}

  // There are more devices than before.
  void Resize(size_t devices) { devices_.resize(devices); }

  // The time at which this request is to be answered: now_ms, or later. Counts the request.
  uint64_t AnswerAt(uint32_t device, Request::Kind kind, uint64_t now_ms);

  // The reply was given. One that tells the device to wait starts its wait; work ends the wait, and
  // an error does not.
  void OnReply(uint32_t device, const Reply& reply, uint64_t now_ms);

 private:
  struct Device {
    Bucket requests;
    Bucket early_hellos;
    uint64_t waits_until_ms = 0;
  };

  std::vector<Device> devices_;
};

}  // namespace sotto::server
