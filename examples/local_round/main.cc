// Prints the update of local_round.h in hexadecimal. Exit status 1: something failed.
#include <cstdio>

#include "local_round.h"

int main() {
  static uint8_t update[local_round::kMaxUpdate];
  size_t size = 0;
  const sotto::Status status = local_round::Run(update, &size);
  if (status != sotto::Status::kOk) {
    std::printf("failed: %s\n", sotto::StatusName(status));
    return 1;
  }
  for (size_t i = 0; i < size; ++i) std::printf("%s", local_round::Hex(update[i]).digits);
  std::printf("\n%u bytes\n", static_cast<unsigned>(size));
  return 0;
}
