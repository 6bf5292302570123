// The vendor's functions that this port calls. Part of ports/template.
//
// In your own port, delete this file and call the functions of your vendor's headers instead.
#ifndef SOTTO_TEMPLATE_VENDOR_H_
#define SOTTO_TEMPLATE_VENDOR_H_

#include <cstdint>

extern "C" {

// Milliseconds since the start, modulo 2^32.
uint32_t vendor_tick_ms();

// Reads the hardware random generator. 0: *word is fresh; anything else: seed or clock error.
int vendor_random(uint32_t* word);

// Hands one byte to the UART. 1: taken; 0: its FIFO is full; negative: there is no link.
int vendor_uart_put(uint8_t byte);

}  // extern "C"

#endif  // SOTTO_TEMPLATE_VENDOR_H_
