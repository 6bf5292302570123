// What examples/minimal needs of a board, on a POSIX system. The link leads to a server whose job
// is over: enough to show that the installed SDK links and runs.
#include <cstring>

#include "sotto/client.h"
#include "sotto/posix/port.h"

bool Exchange(const sotto::Request&, sotto::Reply* reply) {
  reply->kind = sotto::Reply::Kind::kDone;
  return true;
}

void SleepMs(uint32_t) {}

sotto::Port BoardPort() { return sotto::posix::SystemPort(); }

sotto::Key DeviceSecret() {
  sotto::Key secret;
  std::memset(secret.bytes, 0x5a, sizeof(secret.bytes));
  return secret;
}
