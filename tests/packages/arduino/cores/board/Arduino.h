// The part of Arduino's core that the sketches call, on a board that QEMU emulates.
#pragma once

#include <cstdint>

#include "sotto/emulated/semihosting.h"

// Macros that Arduino's cores have, and that a library's headers must bear.
#define abs(x) ((x) > 0 ? (x) : -(x))
#define bit(b) (1UL << (b))
#define constrain(x, low, high) ((x) < (low) ? (low) : ((x) > (high) ? (high) : (x)))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define sq(x) ((x) * (x))
#define B1 1
#define DEFAULT 1
#define F(text) (text)
#define HIGH 1
#define INPUT 0
#define LOW 0
#define OUTPUT 1
#define PI 3.14159265

constexpr int A0 = 0;
constexpr int A1 = 1;

inline int analogRead(int) { return 512; }
inline void delay(unsigned long) {}

struct EmulatedSerial {
  explicit operator bool() const { return true; }
  void begin(unsigned long) {}
  void print(const char* text) { sotto::emulated::Print(text); }
  void print(unsigned number) { sotto::emulated::Print(static_cast<uint32_t>(number)); }
  template <class Value>
  void println(Value value) {
    print(value);
    println();
  }
  void println() { print("\n"); }
};

inline EmulatedSerial Serial;

void setup();
void loop();
