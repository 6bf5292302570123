#include "Arduino.h"

int main(int, char**) {
  setup();
  return 0;
}
