// Bytes that are nearly a message, for the decoders of messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "unit/sdk/wire_messages.h"

namespace sotto {

// Hand-made bodies: a Request or Reply with one field, its message.
inline std::vector<uint8_t> Wrapped(uint8_t tag, const std::vector<uint8_t>& inner) {
  std::vector<uint8_t> body(2 + inner.size());
  body[0] = static_cast<uint8_t>(tag << 3 | 2);
  body[1] = static_cast<uint8_t>(inner.size());
  std::copy(inner.begin(), inner.end(), body.begin() + 2);
  return body;
}

// Truncated bodies in memory of exactly their size: a sanitizer finds a read beyond the end. A
// prefix can be a whole message, with what came later absent; then it is within its limits.
template <typename Message>
void TruncateEverywhere(const Message& message) {
  const std::vector<uint8_t> frame = Frame(message, kMinMaxFrame);
  for (size_t size = kFrameHeaderSize; size < frame.size(); ++size) {
    const std::vector<uint8_t> body(frame.begin() + kFrameHeaderSize,
                                    frame.begin() + static_cast<std::ptrdiff_t>(size));
    Message back;
    EXPECT_EQ(Decode(View(body), &back), Status::kMalformed) << "after " << size << " bytes";
  }
}

// One to four changes to a valid body: a byte replaced, a bit flipped, bytes removed or repeated.
inline std::vector<uint8_t> Mutate(std::vector<uint8_t> body, std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  for (auto changes = 1 + below(4); changes > 0 && !body.empty(); --changes) {
    const auto at = body.begin() + below(body.size());
    switch (below(4)) {
      case 0:
        *at = static_cast<uint8_t>(random());
        break;
      case 1:
        *at = static_cast<uint8_t>(*at ^ 1 << below(8));
        break;
      case 2:
        body.erase(at, at + 1 + below(static_cast<size_t>(body.end() - at)));
        break;
      default: {
        const std::vector<uint8_t> again(at, body.end());
        body.insert(at, again.begin(), again.end());
      }
    }
    if (body.size() > 1000) body.resize(1000);
  }
  return body;
}

// What was decoded can be sent again and then means the same: nothing outside the limits passed.
template <typename Message>
int DecodeMutations(const std::vector<uint8_t>& valid, int count, std::mt19937& random) {
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    const std::vector<uint8_t> body = Mutate(valid, random);
    Message message;
    const Status status = Decode(View(body), &message);
    if (status == Status::kOk) {
      ++accepted;
      ExpectRoundTrip(message, kDefaultMaxFrame);
    } else {
      EXPECT_EQ(status, Status::kMalformed);
    }
    if (testing::Test::HasFailure()) return accepted;
  }
  return accepted;
}

}  // namespace sotto
