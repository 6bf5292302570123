// The first program of a new board: checks the port, measures, takes part in one private round, and
// prints its findings in ten lines, which you send back. Part of examples/bring_up.
//
// Exit status, where a board has one: the number of lines that say FAILED. It overwrites the
// records of the board's store.
#include "board.h"
#include "round.h"
#include "sotto/conformance/check.h"
#include "sotto/conformance/line.h"
#include "sotto/version.h"
#include "tls_pool.h"

namespace sotto {
namespace {

using conformance::Hex;
using conformance::Line;

constexpr uint32_t kAgainMs = 10000;

char said[1200];  // the lines, each with a 0 at its end
size_t said_size = 0;
int failures = 0;

// Lines that do not fit are not printed again.
void Say(const Line& line) {
  board::Say(line.text());
  const size_t size = __builtin_strlen(line.text()) + 1;
  if (size > sizeof(said) - said_size) return;
  __builtin_memcpy(said + said_size, line.text(), size);
  said_size += size;
}

void SayAgain() {
  for (size_t at = 0; at < said_size; at += __builtin_strlen(said + at) + 1) board::Say(said + at);
}

const char* Core() {
#if defined(__ARM_ARCH_8_1M_MAIN__)
  return "Armv8.1-M mainline";
#elif defined(__ARM_ARCH_8M_MAIN__)
  return "Armv8-M mainline";
#elif defined(__ARM_ARCH_7EM__)
  return "Armv7E-M";
#elif defined(__ARM_ARCH_7M__)
  return "Armv7-M";
#elif defined(__ARM_ARCH_6M__)
  return "Armv6-M";
#elif defined(__riscv_flen)
  return "RISC-V with floating point";
#elif defined(__riscv)
  return "RISC-V";
#else
  return "another core";
#endif
}

const char* Optimisation() {
#if defined(__OPTIMIZE_SIZE__)
  return "for size";
#elif defined(__OPTIMIZE__)
  return "for speed";
#else
  return "not at all";
#endif
}

// Prints "clock: ok", or "FAILED clock: it goes back; ports/PORTING.md, 2".
//   broken   nullptr, or the broken rule, which begins with the check's name
//   section  of ports/PORTING.md
// Returns whether it passed.
bool SayCheck(const Line& passed, const char* broken, const char* section) {
  if (broken == nullptr) {
    Say(Line() << passed.text() << ": ok");
    return true;
  }
  ++failures;
  Say(Line() << "FAILED " << broken << "; ports/PORTING.md, " << section);
  return false;
}

// Prints the first bytes after a reset: a person must see other bytes after another reset.
bool CheckEntropy(const Port& port) {
  uint8_t bytes[8] = {};
  const bool is_there =
      port.entropy != nullptr && port.entropy(port.context, MutableByteSpan(bytes)) == Status::kOk;
  Line line;
  line << "entropy ";
  for (const uint8_t byte : bytes) line << Hex{byte, 2};
  line << ", other bytes after each reset";
  return SayCheck(line, is_there ? conformance::CheckEntropy(port) : "entropy: it fails", "3");
}

// Replaces both records by empty ones. The check needs a store without records, and its own records
// are useless afterwards.
const char* EmptyStore() {
  const PersistentStore store = board::Store();
  const StoreSlot slots[] = {StoreSlot::kClient, StoreSlot::kPeer};
  for (const StoreSlot slot : slots) {
    if (store.save(store.context, slot, {}) == Status::kOk) continue;
    return "store: saving fails, or its memory holds what is no record; erase its pages";
  }
  return nullptr;
}

void CheckStore() {
  if (!board::Store().is_there())
    return Say(Line() << "store: none; sotto/persistent_store.h says who needs one");
  const char* broken = EmptyStore();
  if (broken == nullptr) broken = conformance::CheckStore(board::Store);
  if (broken == nullptr) broken = EmptyStore();
  SayCheck(Line() << "store", broken, "5");
}

// The conditions of a round. A board that computes other bits, or has a bad generator, must not
// send an update.
bool CheckBasics(const Port& port) {
  bool may_send = SayCheck(Line() << "arithmetic", conformance::CheckArithmetic(), "6");
  may_send &= SayCheck(Line() << "clock", conformance::CheckClock(port, board::SleepMs), "2");
  may_send &= CheckEntropy(port);
  return may_send;
}

RoundReport TakePart(const Port& port, bool may_send) {
  RoundReport report;
  if (may_send) {
    report = RunRound(port);
  } else {
    report.failure = "not tried; mend first what failed above";
  }
  Line line;
  if (report.failure == nullptr) {
    line << "one private round, " << report.frames_sent << " frames, " << report.frames_repeated
         << " of them again: ok";
  } else {
    ++failures;
    line << "FAILED round: " << report.failure;
    if (report.detail[0] != '\0') line << " (" << report.detail << ")";
  }
  Say(line);
  return report;
}

void SayCosts(const RoundReport& round) {
  Say(Line() << "milliseconds: handshake " << round.handshake_ms << ", training " << kRoundSamples
             << " samples " << round.train_ms << ", the round " << round.all_ms);
  const RoundBytes bytes = BytesOfRound();
  Say(Line() << "bytes: client " << bytes.client << ", vectors " << bytes.vectors << ", workspace "
             << bytes.workspace << ", link " << bytes.link << ", TLS pool " << TlsPoolUsed()
             << " of " << TlsPoolSize() << ", stack " << board::StackUsed());
}

void Run() {
  board::Start();
  StartTlsPool();
  const Port port = board::SystemPort();
  Say(Line() << "Sotto " << kVersion << " on " << board::Name());
  Say(Line() << Core() << ", compiler " << __VERSION__ << ", optimised " << Optimisation());
  const bool may_send = CheckBasics(port);
  CheckStore();
  const RoundReport round = TakePart(port, may_send);
  SayCosts(round);
  Say(Line() << failures << " failures; send these ten lines to the project");
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  sotto::Run();
  for (;;) {
    sotto::board::End(sotto::failures);
    sotto::board::SleepMs(sotto::kAgainMs);
    sotto::SayAgain();
  }
}
