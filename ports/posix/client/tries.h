// How a device tries again: pauses that double, until its owner's --give-up. Part of
// ports/posix/client. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "ending.h"
#include "options.h"
#include "reporter.h"
#include "sotto/bytes.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"

namespace sotto::posix {

class Tries {
 public:
  // Options and reporter outlive the object.
  Tries(const ClientOptions& options, LinkReporter& reporter)
      : options_(options), reporter_(reporter), last_contact_ms_(NowMs()) {}

  // After an answer.
  void Answered() {
    next_ms_ = kFirstMs;
    NothingToAnswer();
  }
  // While the device needs no answer.
  void NothingToAnswer() { last_contact_ms_ = NowMs(); }

  // Sleeps before the next try: up to 15,000 to 45,000 ms, or until a stop signal. The pause has a
  // random part, so that a fleet does not reconnect all at once. Throws std::runtime_error without
  // entropy.
  void Pause() { SleepUnlessStopped(NextMs()); }
  void PauseAfter(const Failure& failure) {
    const uint32_t pause_ms = NextMs();
    reporter_.Retrying(failure, pause_ms);
    SleepUnlessStopped(pause_ms);
  }

  // Why there is no further try: a stop signal, or nobody has answered for as long as --give-up.
  //   who  "server"
  std::optional<Ending> End(const char* who) const {
    if (const int signal = StopSignal(); signal != 0) return EndingOfSignal(signal);
    const auto silent_ms = static_cast<double>(NowMs() - last_contact_ms_);
    if (options_.give_up_s <= 0 || silent_ms <= options_.give_up_s * 1000) return std::nullopt;
    return Ending{Outcome::kNoServer,
                  fmt::format("no {} at {} for {} s", who, options_.server, options_.give_up_s)};
  }

 private:
  uint32_t NextMs() {
    uint8_t random[4] = {};
    if (Entropy(random) != Status::kOk) throw std::runtime_error("no entropy");
    const uint32_t pause_ms = next_ms_ / 2 + LoadU32Le(random) % next_ms_;
    next_ms_ = std::min(2 * next_ms_, kLastMs);
    return pause_ms;
  }

  static constexpr uint32_t kFirstMs = 500;
  static constexpr uint32_t kLastMs = 30000;

  const ClientOptions& options_;
  LinkReporter& reporter_;
  uint32_t next_ms_ = kFirstMs;
  uint64_t last_contact_ms_;
};

}  // namespace sotto::posix
