// The interrupts that the port handles. Private to the port.
//
// The definitions in startup.cc are weak and end the program; a file of the port that is linked
// brings its own.
#ifndef SOTTO_MPS2_VECTORS_H_
#define SOTTO_MPS2_VECTORS_H_

extern "C" {

void SottoOnTick();  // SysTick: clock.cc
void SottoOnUart();  // UART0 received a byte: uart.cc
}

#endif  // SOTTO_MPS2_VECTORS_H_
