// One private round of a device over the frames of a UART, with its findings in words. Part of
// examples/bring_up.
//
// One thread. The memory is static: there is one round.
#pragma once

#include <cstdint>

#include "sotto/port.h"

namespace sotto {

constexpr uint32_t kRoundSamples = 50;

// Milliseconds and frames are 0 for steps that did not happen.
struct RoundReport {
  // nullptr: the server has this device's update. Else the problem and its remedy.
  const char* failure = nullptr;
  const char* detail = "";  // the status or code behind the failure; may be empty
  uint32_t handshake_ms = 0;
  uint32_t train_ms = 0;
  uint32_t all_ms = 0;
  uint32_t frames_sent = 0;
  uint32_t frames_repeated = 0;
};

// Bytes of static memory that the round takes, by use.
struct RoundBytes {
  uint32_t client;
  uint32_t vectors;    // the model and its update
  uint32_t workspace;  // training and messages take turns in it
  uint32_t link;       // frames and messages under way
};
RoundBytes BytesOfRound();

// Takes part in the job of the server behind sotto-gateway until the server has an update, or until
// SOTTO_ROUND_SECONDS have passed by the port's clock, or until no further try can succeed.
//   port  its clock and its entropy have passed their checks
RoundReport RunRound(const Port& port);

}  // namespace sotto
