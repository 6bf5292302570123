#include "link_pipe.h"
#include "sotto/mps2/uart.h"

namespace sotto {

Status OpenPipe(const Port&) {
  mps2::UartDiscard();
  return Status::kOk;
}

int PipeSend(ByteSpan bytes) { return mps2::UartSend(bytes); }

int PipeReceive(MutableByteSpan out) { return mps2::UartReceive(out); }

void PipeWait(const Port&, bool wants_write) {
  if (!wants_write) mps2::UartWait();
}

void ClosePipe(const Port&) {}

}  // namespace sotto
