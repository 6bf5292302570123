// The result of every call that can fail. Part of sotto/base: no dependencies.
//
// Statuses cross the wire and reach logs, so a value is never renumbered or reused. A call that
// does not return kOk leaves its outputs untouched unless its own comment says otherwise. Plain
// values: safe in any thread.
#pragma once

#include <cstdint>

namespace sotto {

enum class [[nodiscard]] Status : int8_t{
    kOk = 0,
    kInvalidArgument = -1,  // a configuration or parameter outside its documented range
    kOutOfRange = -2,       // a value or index beyond what the format can hold
    kNotFinite = -3,        // NaN or infinity where a number is needed
    kBufferTooSmall = -4,   // the caller's buffer cannot hold the result
    kMalformed = -5,        // bytes that no honest peer can have sent
    kWrongState = -6,       // the call is not allowed in the object's present state
    kEntropyFailed = -7,    // the port could not give random bytes; always fatal for the round
    kCryptoFailed = -8,     // the cryptographic library reported an error
    kSampleFailed = -9,     // the sample callback reported an error
    kMismatch = -10,        // model, job, round, attempt or key is not the expected one
    kPeerRefused = -11,     // the other side answered with a final error
    kWouldBlock = -12,      // no failure: call again when the link can take or give bytes
    kLinkLost = -13,        // the link to the other side is gone
    kStoreFailed = -14,     // the port could not read or write its persistent memory
    kTooLate = -15,         // the training was not finished when the round's report time came
};

// The number of statuses, kOk included; their values are 0, -1, ... -(kStatusCount - 1).
constexpr int kStatusCount = 16;

// The enumerator's name, "kOk" for example; "unknown status" for a value outside the list.
const char* StatusName(Status status);

}  // namespace sotto
