// The events that sotto-client logs: the one table of their names, levels and texts. README.md has
// it for people, and a test compares them. Part of ports/posix/client.
//
// A key, an update and samples never stand in a field. Nor does what depends on the data, is no
// failure and is not published anyway, as the training's loss: logs travel further than their
// device. The event `data` is the exception, for the owner who must see how labels were read.
// Constant data.
#pragma once

#include "sotto/log/event_log.h"

namespace sotto::posix::event {

inline constexpr EventKind kStarted = {
    "started", LogLevel::kDebug, "has {samples} samples and model {model}; connects to {server}"};
inline constexpr EventKind kData = {"data", LogLevel::kInfo, "{text}"};
inline constexpr EventKind kLooksUp = {"looks-up", LogLevel::kInfo, "looks up the name {host}"};
inline constexpr EventKind kConnected = {"connected", LogLevel::kInfo, "connected to {server}"};
inline constexpr EventKind kWaiting = {"waiting", LogLevel::kInfo, "waiting {what}"};
inline constexpr EventKind kStaysOut = {
    "stays-out", LogLevel::kWarning,
    "takes no part in the job, and waits for another one: {reason} ({code})", true};
inline constexpr EventKind kTookModel = {
    "took-model", LogLevel::kInfo,
    "takes the job's model {model}: {parameters} parameters, {samples} samples"};
inline constexpr EventKind kUnsuited = {
    "unsuited", LogLevel::kWarning,
    "its samples do not suit the job's model {model}: {reason}. It takes part with updates of "
    "zeros, and the server is not told; mend the data, then start it again"};
inline constexpr EventKind kUnread = {
    "unread", LogLevel::kWarning,
    "its recorded samples cannot be read: {reason}. It takes part with updates of zeros, and the "
    "server is not told",
    true};
inline constexpr EventKind kDrawn = {"drawn", LogLevel::kInfo,
                                     "drawn for round {round}, attempt {attempt}"};
inline constexpr EventKind kResumed = {"resumed", LogLevel::kDebug,
                                       "goes on with round {round}, attempt {attempt}"};
inline constexpr EventKind kDownloaded = {
    "downloaded", LogLevel::kDebug, "has the model of round {round}: {bytes} bytes in {seconds}"};
inline constexpr EventKind kMeasured = {
    "measured", LogLevel::kInfo, "measured its prediction errors in round {round} in {seconds}"};
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
inline constexpr EventKind kOtherMachine = {
    "other-machine", LogLevel::kWarning, "tries {server} again in {retry_in_ms}: {reason}", true};
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
inline constexpr EventKind kReleasedModel = {
    "released-model", LogLevel::kInfo,
    "keeps the newest released model, after round {rounds} of {state}: {bytes} bytes; "
    "threshold: {threshold}; claimed: {claims}"};
inline constexpr EventKind kNoRelease = {"no-release", LogLevel::kWarning,
                                         "has fetched no released model: {reason} ({code})"};
inline constexpr EventKind kKeptModelDamaged = {"kept-model-damaged", LogLevel::kWarning,
                                                "{reason}; fetches the model anew"};

// With --record.
inline constexpr EventKind kRecording = {
    "recording", LogLevel::kInfo,
    "records windows of {window} readings of {axes} numbers into {file}, from window {next} on"};
inline constexpr EventKind kBadLine = {"bad-line", LogLevel::kWarning,
                                       "line {line} is left out: {reason}", true};
inline constexpr EventKind kRecorded = {
    "recorded", LogLevel::kInfo,
    "the input has ended; windows: {windows}, lines left out: {bad_lines}"};

// The ends.
inline constexpr EventKind kDone = {
    "done", LogLevel::kInfo,
    "the job is done; rounds drawn: {rounds_drawn}, updates sent: {rounds_sent}, bytes: "
    "{bytes_sent}"};
inline constexpr EventKind kStopped = {"stopped", LogLevel::kInfo, "{reason}"};
inline constexpr EventKind kRefused = {"refused", LogLevel::kError, "{reason} ({code})"};
inline constexpr EventKind kNoServer = {"no-server", LogLevel::kError, "{reason}"};
inline constexpr EventKind kFailed = {"failed", LogLevel::kError, "{reason}"};

inline constexpr const EventKind* kAll[] = {&kStaysOut,       &kOtherMachine,
                                            &kTookModel,      &kUnsuited,
                                            &kStarted,        &kLooksUp,
                                            &kConnected,      &kWaiting,
                                            &kDrawn,          &kResumed,
                                            &kDownloaded,     &kTrained,
                                            &kMeasured,       &kSent,
                                            &kRoundGivenUp,   &kRetrying,
                                            &kTrainingFailed, &kSaturated,
                                            &kNothingHeldOut, &kReleasedModel,
                                            &kNoRelease,      &kKeptModelDamaged,
                                            &kData,           &kUnread,
                                            &kRecording,      &kBadLine,
                                            &kRecorded,       &kDone,
                                            &kStopped,        &kRefused,
                                            &kNoServer,       &kFailed};

}  // namespace sotto::posix::event

// With --peer, besides some of the others.
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
    "version {version} is not available or not valid: builds on version {base}"};
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
