// The events that sotto-client --peer logs besides some of events.h: the one table of their names,
// levels and texts. README.md has it for people, and a test compares them. Part of
// ports/posix/client.
//
// What depends on data and is not published anyway never stands in a field, as in events.h.
// Constant data.
#pragma once

#include "sotto/log/event_log.h"

namespace sotto::posix::peer_event {

inline constexpr EventKind kPrivacy = {"privacy", LogLevel::kInfo, "{statement}"};
inline constexpr EventKind kListening = {"listening", LogLevel::kDebug,
                                         "listens for neighbours on port {port}"};
inline constexpr EventKind kJoined = {
    "joined", LogLevel::kInfo,
    "is node {node} of {nodes}; step {step} of {steps} is next; the newest model is version "
    "{version}"};
inline constexpr EventKind kPublished = {
    "published", LogLevel::kInfo, "published step {step} as version {version}: {bytes} bytes"};
inline constexpr EventKind kNotAccepted = {
    "not-accepted", LogLevel::kWarning,
    "the publication of step {step} became no version; others may have seen it all the same, so it "
    "counts and this node goes on from it"};
inline constexpr EventKind kFellBack = {
    "fell-back", LogLevel::kWarning,
    "version {version} cannot be had or is not valid: builds on version {base}"};
inline constexpr EventKind kNeighbour = {
    "neighbour-lost", LogLevel::kWarning,
    "node {node} at {address} does not answer: {reason} ({code})", true};
inline constexpr EventKind kServing = {"serving", LogLevel::kInfo,
                                       "has taken its last step; serves its last publication until "
                                       "version {version} is replaced, {seconds} at most"};
inline constexpr EventKind kStepsDone = {"steps-done", LogLevel::kInfo,
                                         "all {steps} steps are taken; publications: {releases}, "
                                         "of which {accepted} were accepted since the start"};

inline constexpr const EventKind* kAll[] = {&kPrivacy,   &kListening,   &kJoined,
                                            &kPublished, &kNotAccepted, &kFellBack,
                                            &kNeighbour, &kServing,     &kStepsDone};

}  // namespace sotto::posix::peer_event
