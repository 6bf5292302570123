// Does this build compute the bits of every other device? To be run once on a new board.
#include <Sotto.h>

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
  Serial.println(sotto::StatusName(sotto::SelfTest()));
  Serial.print("bytes of a client: ");
  Serial.println(static_cast<unsigned>(sizeof(sotto::Client)));
}

void loop() {}
