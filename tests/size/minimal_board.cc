// The board of examples/minimal and examples/minimal_c: a server in memory, no entropy but numbers
// that count. Prints the update when the job is over; both programs must print the same.
#include "minimal_c/board.h"
#include "size/memory_server.h"
#include "sotto/client.h"
#include "sotto/conformance/line.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/wire.h"

bool Exchange(const sotto::Request& request, sotto::Reply* reply);
void SleepMs(uint32_t ms);
sotto::Port BoardPort();
sotto::Key DeviceSecret();

namespace {

using sotto::Status;

constexpr uint32_t kParameters = 650;

sotto::MemoryServer g_server(MAX_FRAME, 4 * kParameters);
uint8_t g_count = 0;

Status Entropy(void*, sotto::MutableByteSpan out) {
  for (uint8_t& byte : out) byte = g_count++;
  return Status::kOk;
}

uint64_t NowMs(void*) { return sotto::emulated::NowMs(); }

}  // namespace

bool Exchange(const sotto::Request& request, sotto::Reply* reply) {
  *reply = g_server.Answer(request);
  if (reply->kind == sotto::Reply::Kind::kDone) {
    sotto::emulated::Print((sotto::conformance::Line()
                            << "update: " << g_server.update_bytes() << " bytes, hash "
                            << g_server.update_hash() << "\n")
                               .text());
  }
  return true;
}

// Nothing has to be waited for unless something failed.
void SleepMs(uint32_t) { sotto::emulated::Exit(1); }

sotto::Port BoardPort() { return {NowMs, Entropy, nullptr}; }

sotto::Key DeviceSecret() {
  sotto::Key key;
  __builtin_memset(key.bytes, 7, sizeof(key.bytes));
  return key;
}

size_t board_exchange(const uint8_t* frame, size_t size, uint8_t* body) {
  constexpr size_t kHeader = sotto::kFrameHeaderSize;
  sotto::Request request;
  if (size < kHeader ||
      sotto::DecodeRequest({frame + kHeader, size - kHeader}, &request) != Status::kOk) {
    sotto::emulated::Exit(1);
  }
  sotto::Reply reply;
  Exchange(request, &reply);
  static uint8_t answer[kHeader + MAX_FRAME];
  if (sotto::EncodeReply(reply, MAX_FRAME, answer, &size) != Status::kOk) sotto::emulated::Exit(1);
  __builtin_memcpy(body, answer + kHeader, size - kHeader);
  return size - kHeader;
}

void board_sleep_ms(uint32_t ms) { SleepMs(ms); }

uint64_t board_now_ms(void* context) { return NowMs(context); }

sotto_status board_entropy(void*, uint8_t* out, size_t size) {
  return static_cast<sotto_status>(Entropy(nullptr, {out, size}));
}

const char* board_device_id(void) { return "board-1"; }

const uint8_t* board_secret(void) {
  static const sotto::Key secret = DeviceSecret();
  return secret.bytes;
}
