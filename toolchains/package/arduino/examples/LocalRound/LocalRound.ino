// A private round without a server: the update of local_round.h in hexadecimal. It is the same on
// every board.
#include <Sotto.h>

#include "local_round.h"

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
  static uint8_t update[local_round::kMaxUpdate];
  size_t size = 0;
  const sotto::Status status = local_round::Run(update, &size);
  if (status != sotto::Status::kOk) {
    Serial.println(sotto::StatusName(status));
    return;
  }
  for (size_t i = 0; i < size; ++i) Serial.print(local_round::Hex(update[i]).digits);
  Serial.println();
}

void loop() {}
