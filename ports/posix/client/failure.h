// Why something failed, in words for the owner of a device. Part of ports/posix/client. Pure
// functions, safe in any thread.
#pragma once

#include <fmt/format.h>
#include <string>

#include "connection.h"
#include "sotto/messages.h"
#include "sotto/status.h"

namespace sotto::posix {

// A sentence for people, and the name of the status or error code.
struct Failure {
  std::string reason;
  std::string code;
};

// What a status or a server's error code means.
inline std::string Reason(Status status) {
  switch (status) {
    case Status::kLinkLost:
      return "the connection was lost, or no answer came in time";
    case Status::kMalformed:
      return "bytes came that no Sotto server sends";
    case Status::kMismatch:
      return "an answer for another model, job, round or key came";
    case Status::kPeerRefused:
      return "the server refused";
    case Status::kEntropyFailed:
      return "this machine gave no random bytes";
    case Status::kCryptoFailed:
      return "the cryptographic library failed, perhaps for want of memory";
    case Status::kSampleFailed:
      return "a sample could not be read";
    case Status::kNotFinite:
      return "a number is infinite or not a number";
    case Status::kBufferTooSmall:
      return "the update is longer than the one length that all updates of the job have; this "
             "happens by chance, and seldom";
    case Status::kTooLate:
      return "it was not finished at three quarters of the server's report time; ask the server's "
             "operator for a later one";
    default:
      return std::string("an internal error, ") + StatusName(status);
  }
}

inline std::string Reason(ErrorCode code) {
  switch (code) {
    case ErrorCode::kVersion:
      return "the server speaks another version of the protocol; install the sotto-client of its "
             "release";
    case ErrorCode::kModelMismatch:
      return "the job trains another model; name the job's model with --model, or take it with "
             "--accept-model";
    case ErrorCode::kNotSelected:
      return "this device is not in the round's cohort, or no longer";
    case ErrorCode::kWrongAttempt:
      return "the round has ended, or is tried again";
    case ErrorCode::kMalformed:
    case ErrorCode::kTooLarge:
      return "the server does not understand what this device sent";
    case ErrorCode::kConflict:
      return "this device has announced another update in this round, before a restart perhaps; it "
             "takes part again in the next round for which it is drawn";
    case ErrorCode::kBusy:
      return "the server is busy";
    case ErrorCode::kKeyRotated:
      return "this key was replaced: the server knows another one for this device (`sotto keys "
             "rotate`). Install the device's new key file in the place of this one, and start "
             "again";
    case ErrorCode::kKeyRevoked:
      return "this device was revoked (`sotto keys revoke`), so its key opens nothing any more; "
             "ask the server's operator for another device's key";
    case ErrorCode::kOtherMachine:
      return "another machine connected with this device's key, and the server serves one at a "
             "time, the newest. Was this disk copied? Stop the other one, or ask the server's "
             "operator for another key";
    default:
      return std::string("the server reports an error, ") + ErrorCodeName(code);
  }
}

inline Failure FailureOf(Status status) { return {Reason(status), StatusName(status)}; }
inline Failure FailureOf(ErrorCode code) { return {Reason(code), ErrorCodeName(code)}; }

// Of an answer that the client did not take. A number out of range is the fault of the side that
// sent it: of the task, or of the model's values.
inline Failure FailureOf(const Reply& reply, Status status) {
  if (reply.kind == Reply::Kind::kError) return FailureOf(reply.code);
  const bool is_number = status == Status::kInvalidArgument || status == Status::kMalformed ||
                         status == Status::kOutOfRange || status == Status::kNotFinite ||
                         status == Status::kBufferTooSmall;
  if (reply.kind == Reply::Kind::kTrain && is_number) {
    return {
        "the server's task is invalid: one of its numbers is out of range or not a number; "
        "ask the server's operator",
        StatusName(status)};
  }
  if (reply.kind == Reply::Kind::kModelChunk && status == Status::kNotFinite) {
    return {
        "the server's model has a number that is infinite or not a number; ask the server's "
        "operator",
        StatusName(status)};
  }
  if (reply.kind == Reply::Kind::kModelChunk && is_number && status != Status::kMalformed) {
    return {
        "the server's task is invalid: it needs more memory, or other abilities, than this "
        "device has said that it has",
        StatusName(status)};
  }
  return FailureOf(status);
}

// Of an answer that ends the fetch of a released model. An older server does not know the question.
inline Failure WhyNoRelease(const Reply& reply, Status status) {
  Failure failure = FailureOf(reply, status);
  if (reply.kind != Reply::Kind::kError) return failure;
  if (reply.code == ErrorCode::kMalformed) {
    failure.reason = "the server is older than this client, and gives no device a released model";
  } else if (reply.code == ErrorCode::kModelMismatch) {
    failure.reason = "the server has released models of other nets alone; name theirs with --model";
  } else if (reply.code == ErrorCode::kBusy) {
    failure.reason = "the server has released no model yet";
  }
  return failure;
}

// Of a connection that was not closed yet.
//   device  this device's name
inline Failure WhyLost(const Connection& link, const std::string& device, Status status) {
  Failure failure = FailureOf(status);
  if (!link.is_open()) {
    failure.reason = fmt::format("cannot connect: {}", link.error());
    return failure;
  }
  const bool is_refused = status == Status::kPeerRefused || status == Status::kMismatch;
  if (!link.is_authenticated() && is_refused) {
    failure.reason = fmt::format(
        "it does not accept the key of {}, or is not the server of this device", device);
  } else if (!link.is_authenticated()) {
    failure.reason += fmt::format(", before the server proved that it knows the key of {}", device);
  }
  if (!link.is_only_server()) {
    failure.reason = fmt::format("{}: {}", AddressText(link.server()), failure.reason);
  }
  return failure;
}

}  // namespace sotto::posix
