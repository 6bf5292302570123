// The events that sotto-gateway logs. What passes through it never stands in a field. Part of
// ports/posix/gateway. Constant data.
#pragma once

#include "sotto/log/event_log.h"

namespace sotto::posix::event {

inline constexpr EventKind kListens = {"listens", LogLevel::kInfo,
                                       "takes boards on port {port}, for {server}"};
inline constexpr EventKind kWireOpened = {"wire-opened", LogLevel::kInfo, "{wire}: open"};
inline constexpr EventKind kWireLost = {"wire-lost", LogLevel::kWarning, "{wire}: lost", true};
inline constexpr EventKind kWireFailed = {"wire-failed", LogLevel::kWarning,
                                          "{wire}: cannot be opened: {reason}; tries again", true};
inline constexpr EventKind kNoFrames = {"no-frames", LogLevel::kWarning,
                                        "{wire}: bytes arrive, and no frame is in them: the board "
                                        "has another rate than --baud, or says "
                                        "something else than frames",
                                        true};
inline constexpr EventKind kTooMany = {
    "too-many", LogLevel::kWarning, "refuses a connection: {most} boards are here (--most)", true};
inline constexpr EventKind kBoardOpened = {"board-opened", LogLevel::kDebug,
                                           "{wire}: a board begins a connection"};
inline constexpr EventKind kBoardEnded = {
    "board-ended", LogLevel::kDebug,
    "{wire}: the board's connection is over; sent {sent} frames, {repeated} of them again, "
    "received {received}"};
inline constexpr EventKind kServerFailed = {"server-failed", LogLevel::kWarning,
                                            "{server}: {reason}; the board tries again", true};
inline constexpr EventKind kTestLoss = {"test-loss", LogLevel::kWarning,
                                        "loses {share} of all frames: --test-loss, for tests"};
inline constexpr EventKind kFailed = {"failed", LogLevel::kError, "{reason}"};

}  // namespace sotto::posix::event
