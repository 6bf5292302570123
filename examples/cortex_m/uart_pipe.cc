#include "link_pipe.h"
#include "sotto/emulated/uart.h"

namespace sotto {

Status OpenPipe(const Port&) {
  emulated::UartDiscard();
  return Status::kOk;
}

int PipeSend(ByteSpan bytes) { return emulated::UartSend(bytes); }

int PipeReceive(MutableByteSpan out) { return emulated::UartReceive(out); }

void PipeWait(const Port&, bool wants_write) {
  if (!wants_write) emulated::UartWait();
}

void ClosePipe(const Port&) {}

}  // namespace sotto
