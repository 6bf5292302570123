// A device with softmax-784-10 and without TLS, to be measured: client, training, encoder and
// messages. A modem or a gateway would encrypt its messages. table.sh builds and runs it.
#pragma once

#include "sotto/wire.h"

namespace sotto {

constexpr uint32_t kMaxFrame = 510;
constexpr size_t kFrameBytes = kFrameHeaderSize + 2 * kMaxFrame;

// Takes part until the job is done.
void TakePart();

// The program's link: sends a request and waits for its reply. False if the link was cut.
//   frames  [kFrameBytes], to use until the next call
bool Exchange(const Request& request, MutableByteSpan frames, Reply* reply);

// The program's clock.
void SleepMs(uint32_t ms);

}  // namespace sotto
