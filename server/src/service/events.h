// The events that `sotto serve` and `sotto peers directory` log: the one table of their names and
// levels. SERVE.md has it for people, and a test compares them. Part of sotto::server/service.
//
// Every event has a text for people, its field "text"; some have further fields. The log is the
// operator's: its counts, names and times tell who took part. A key or an update never stands in a
// field. Constant data.
#pragma once

#include "sotto/log/event_log.h"

namespace sotto::server::event {

using posix::EventKind;
using posix::LogLevel;

inline constexpr EventKind kInfo = {"info", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kDetail = {"detail", LogLevel::kDebug, "{text}"};
inline constexpr EventKind kWarning = {"warning", LogLevel::kWarning, "{text}"};
inline constexpr EventKind kListening = {"listening", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kWaiting = {"waiting", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kRoundOpened = {"round-opened", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kReleased = {"released", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kGivenUp = {"given-up", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kJobBegun = {"job-begun", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kJobOver = {"job-over", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kDeviceState = {"device-state", LogLevel::kWarning, "{text}"};
inline constexpr EventKind kStopped = {"stopped", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kFailed = {"failed", LogLevel::kError, "{text}"};

// What stands in an event beside its text.
struct Row {
  const EventKind* kind;
  const char* fields;
  const char* meaning;
};

inline constexpr Row kAll[] = {
    {&kInfo, "", "any other line"},
    {&kDetail, "", "a connection ends or is refused: with `-v`"},
    {&kWarning, "", "a line that begins with WARNING or ALARM"},
    {&kListening, "port", "the server takes connections"},
    {&kJobBegun, "job, model", "a job begins, or goes on after a start"},
    {&kWaiting, "round", "no round opens, for this reason"},
    {&kRoundOpened, "round, attempt, drawn", "an attempt at a round takes updates"},
    {&kReleased, "round, attempt, reports", "a round was released"},
    {&kGivenUp, "round, attempt, reports", "an attempt ended without a release"},
    {&kJobOver, "ended", "the job is over, or gave up: how it ended"},
    {&kDeviceState, "device, state", "a device has a state that wants a look, see its table"},
    {&kStopped, "status", "the last line: a signal ended the server"},
    {&kFailed, "status", "the last line: why the server ended with another status than 0"},
};

}  // namespace sotto::server::event
