// Prints the update of local_round.h in hexadecimal on an emulated board. Exit status 1: something
// failed.
#include "local_round.h"
#include "sotto/emulated/semihosting.h"

int main(int, char**) {
  using sotto::emulated::Print;
  static uint8_t update[local_round::kMaxUpdate];
  size_t size = 0;
  const sotto::Status status = local_round::Run(update, &size);
  if (status != sotto::Status::kOk) {
    Print(sotto::StatusName(status));
    return 1;
  }
  for (size_t i = 0; i < size; ++i) Print(local_round::Hex(update[i]).digits);
  Print("\n");
  return 0;
}
