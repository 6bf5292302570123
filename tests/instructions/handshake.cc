// Instructions that a board spends on a TLS handshake, full and resumed, and the bytes of it.
//
// Client and server are in this image, over pipes in memory; only the client's calls are counted.
// To be run by `qemu-system-arm -icount shift=0`, where the counter counts instructions; table.sh
// of tests/size does. Prints "handshake, KIND: INSTRUCTIONS: SENT: RECEIVED: TURNS", bytes of the
// client, for each kind; ends with 1 if a handshake fails. The device's name has 12 characters.
#include <cstring>
#include <mbedtls/memory_buffer_alloc.h>
#include <new>

#include "sotto/conformance/line.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/tls.h"
#include "sotto/tls_tickets.h"

namespace sotto {
namespace {

using conformance::Line;

constexpr uint8_t kName[] = {'b', 'o', 'a', 'r', 'd', '-', '0', '0', '0', '0', '0', '0'};

alignas(8) unsigned char g_pool[24 * 1024];

struct Pipe {
  uint8_t bytes[2048];
  size_t begin = 0;
  size_t end = 0;
};

struct LinkEnd {
  Pipe* to;
  Pipe* from;

  static int Send(void* self, const uint8_t* bytes, size_t size) {
    Pipe& pipe = *static_cast<LinkEnd*>(self)->to;
    if (size > sizeof(pipe.bytes) - pipe.end) return -1;
    std::memcpy(pipe.bytes + pipe.end, bytes, size);
    pipe.end += size;
    return static_cast<int>(size);
  }
  static int Receive(void* self, uint8_t* out, size_t size) {
    Pipe& pipe = *static_cast<LinkEnd*>(self)->from;
    const size_t count = size < pipe.end - pipe.begin ? size : pipe.end - pipe.begin;
    std::memcpy(out, pipe.bytes + pipe.begin, count);
    pipe.begin += count;
    return static_cast<int>(count);
  }
};

uint64_t NowMs(void*) { return 0; }

// Not random: the numbers are the same in every run.
Status Fill(void* state, MutableByteSpan out) {
  auto* const word = static_cast<uint32_t*>(state);
  for (uint8_t& byte : out) {
    *word = *word * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(*word >> 24);
  }
  return Status::kOk;
}

Status FindKey(void*, ByteSpan, Key* psk) {
  *psk = Key();
  return Status::kOk;
}

// A client and the server's end of its connection.
struct Meeting {
  TlsContext context;
  TlsSession client;
  TlsSession server;
  Pipe up;
  Pipe down;
  LinkEnd client_end{&up, &down};
  LinkEnd server_end{&down, &up};
  uint64_t instructions = 0;
  uint32_t turns = 0;

  static TlsIo IoOf(LinkEnd* end) { return {LinkEnd::Send, LinkEnd::Receive, end}; }

  Status Begin(const Port& port, TlsTicket* ticket) {
    TlsConfig config;
    config.max_fragment = 512;
    config.ticket = ticket;
    if (Status s = context.InitClient(port, kName, Key(), config); s != Status::kOk) return s;
    return client.Start(&context, IoOf(&client_end));
  }

  // Adds what the call takes.
  template <class Call>
  Status Count(const Call& call) {
    const uint32_t begin = emulated::Ticks();
    const Status status = call();
    instructions += uint64_t{emulated::Ticks() - begin} * emulated::NanosecondsPerTick();
    return status;
  }

  Status Handshake() {
    Status ours = Status::kWouldBlock;
    Status theirs = Status::kWouldBlock;
    for (int i = 0; i < 8 && (ours == Status::kWouldBlock || theirs == Status::kWouldBlock); ++i) {
      const size_t sent = up.end;
      ours = Count([this] { return client.Handshake(); });
      const size_t received = down.end;
      theirs = server.Handshake();
      turns += (up.end > sent ? 1U : 0U) + (down.end > received ? 1U : 0U);
    }
    return ours != Status::kOk ? ours : theirs;
  }
};

bool Measure(TlsContext& server, const Port& port, TlsTicket* ticket) {
  static Meeting memory;
  memory.~Meeting();
  auto* const meeting = ::new (static_cast<void*>(&memory)) Meeting;
  Status status = meeting->server.Start(&server, Meeting::IoOf(&meeting->server_end));
  if (status == Status::kOk) {
    status = meeting->Count([&] { return meeting->Begin(port, ticket); });
  }
  if (status == Status::kOk) status = meeting->Handshake();
  const char* const kind = ticket == nullptr ? "full" : "full, with a ticket";
  Line line;
  line << "handshake, " << (meeting->client.is_resumed() ? "resumed" : kind) << ": ";
  if (status == Status::kOk) {
    line << meeting->instructions << ": " << meeting->up.end << ": " << meeting->down.end << ": "
         << meeting->turns << "\n";
  } else {
    line << StatusName(status) << "\n";
  }
  emulated::Print(line.text());
  return status == Status::kOk;
}

bool MeasureAll() {
  mbedtls_memory_buffer_alloc_init(g_pool, sizeof(g_pool));
  static uint32_t state = 1;
  const Port port = {NowMs, Fill, &state};
  static TlsContext server;
  static TlsTicketKeys ticket_keys;
  static TlsTicket ticket;
  TlsConfig config;
  config.ticket_keys = &ticket_keys;
  PskLookup keys;
  keys.find = FindKey;
  return server.InitServer(port, keys, config) == Status::kOk && Measure(server, port, nullptr) &&
         Measure(server, port, &ticket) && Measure(server, port, &ticket);
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::MeasureAll() ? 0 : 1; }
