// The interrupts that the port handles. Part of ports/mps2; private to the port.
//
// The definitions in startup.cc are weak and end the program. clock.cc and uart.cc replace them if
// they are linked.
#pragma once

extern "C" {

void SottoOnTick();  // SysTick: clock.cc
void SottoOnUart();  // UART0 received a byte: uart.cc
}
