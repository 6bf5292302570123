// The events that sotto-client logs: the one table of their names, levels and texts. README.md has
// it for people, and a test compares them. Part of ports/posix/client.
//
// A key, an update and data never stand in a field. Nor does what depends on the data and is no
// failure, as the training's loss: logs travel further than their device. Constant data.
#pragma once

#include "sotto/log/event_log.h"

namespace sotto::posix::event {

inline constexpr EventKind kStarted = {
    "started", LogLevel::kDebug, "has {samples} samples and model {model}; connects to {server}"};
inline constexpr EventKind kConnected = {"connected", LogLevel::kInfo, "connected to {server}"};
inline constexpr EventKind kWaiting = {"waiting", LogLevel::kInfo, "waiting to be drawn"};
inline constexpr EventKind kDrawn = {"drawn", LogLevel::kInfo,
                                     "drawn for round {round}, attempt {attempt}"};
inline constexpr EventKind kResumed = {"resumed", LogLevel::kDebug,
                                       "goes on with round {round}, attempt {attempt}"};
inline constexpr EventKind kDownloaded = {
    "downloaded", LogLevel::kDebug, "has the model of round {round}: {bytes} bytes in {seconds}"};
inline constexpr EventKind kTrained = {
    "trained", LogLevel::kInfo,
    "trained in round {round}: {samples} samples, {steps} steps in {seconds}"};
inline constexpr EventKind kSent = {"sent", LogLevel::kInfo,
                                    "sent its update of round {round}: {bytes} bytes in {seconds}"};
inline constexpr EventKind kRoundGivenUp = {"round-given-up", LogLevel::kWarning,
                                            "gave round {round} up: {reason} ({code})"};
inline constexpr EventKind kRetrying = {"retrying", LogLevel::kWarning,
                                        "tries {server} again in {retry_in_ms}: {reason} ({code})",
                                        true};
inline constexpr EventKind kTrainingFailed = {
    "training-failed", LogLevel::kWarning,
    "training failed: {reason} ({code}); an update of zeros is sent instead", true};
inline constexpr EventKind kSaturated = {
    "saturated", LogLevel::kWarning,
    "fixed point saturated in {steps} steps of the training: lower the learning rate or scale the "
    "features",
    true};
inline constexpr EventKind kNothingHeldOut = {
    "nothing-held-out", LogLevel::kWarning,
    "the job evaluates on held-out samples, and this device has none, so it counts as 1/2: "
    "{reason}"};

// The ends.
inline constexpr EventKind kDone = {
    "done", LogLevel::kInfo,
    "the job is done; rounds drawn: {rounds_drawn}, updates sent: {rounds_sent}, bytes: "
    "{bytes_sent}"};
inline constexpr EventKind kStopped = {"stopped", LogLevel::kInfo, "{reason}"};
inline constexpr EventKind kRefused = {"refused", LogLevel::kError, "{reason} ({code})"};
inline constexpr EventKind kNoServer = {"no-server", LogLevel::kError, "{reason}"};
inline constexpr EventKind kFailed = {"failed", LogLevel::kError, "{reason}"};

inline constexpr const EventKind* kAll[] = {
    &kStarted,        &kConnected, &kWaiting,      &kDrawn,    &kResumed,        &kDownloaded,
    &kTrained,        &kSent,      &kRoundGivenUp, &kRetrying, &kTrainingFailed, &kSaturated,
    &kNothingHeldOut, &kDone,      &kStopped,      &kRefused,  &kNoServer,       &kFailed};

}  // namespace sotto::posix::event
