#include "sotto/status.h"

namespace sotto {

const char* StatusName(Status status) {
  switch (status) {
    case Status::kOk:
      return "kOk";
    case Status::kInvalidArgument:
      return "kInvalidArgument";
    case Status::kOutOfRange:
      return "kOutOfRange";
    case Status::kNotFinite:
      return "kNotFinite";
    case Status::kBufferTooSmall:
      return "kBufferTooSmall";
    case Status::kMalformed:
      return "kMalformed";
    case Status::kWrongState:
      return "kWrongState";
    case Status::kEntropyFailed:
      return "kEntropyFailed";
    case Status::kCryptoFailed:
      return "kCryptoFailed";
    case Status::kSampleFailed:
      return "kSampleFailed";
    case Status::kMismatch:
      return "kMismatch";
    case Status::kPeerRefused:
      return "kPeerRefused";
    case Status::kWouldBlock:
      return "kWouldBlock";
    case Status::kLinkLost:
      return "kLinkLost";
    case Status::kStoreFailed:
      return "kStoreFailed";
    case Status::kTooLate:
      return "kTooLate";
  }
  return "unknown status";
}

}  // namespace sotto
