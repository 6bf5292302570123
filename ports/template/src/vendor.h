// The vendor's functions that this port calls. Part of ports/template.
//
// In your own port, delete this file and call the functions of your vendor's headers instead.
#pragma once

#include <cstdint>

extern "C" {

// Milliseconds since the start, modulo 2^32.
uint32_t vendor_tick_ms();

// Reads the hardware random generator. 0: *word is fresh; anything else: seed or clock error.
int vendor_random(uint32_t* word);

// Hands one byte to the UART. 1: taken; 0: its FIFO is full; negative: there is no link.
int vendor_uart_put(uint8_t byte);

// Where the CPU reads the flash that is set aside, for the store and for a model, like memory: its
// first byte, at a multiple of 4.
const void* vendor_flash_memory();

// Reads the flash that is set aside for the store, at an address from its beginning. 0: done;
// anything else: an error that the flash's ECC could not correct. Some controllers report it by an
// interrupt or a bus fault instead: the handler must let this function return an error.
int vendor_flash_read(uint32_t address, void* bytes, uint32_t size);

// Erases the flash's page that begins at this address. 0: all of its bytes read as
// kErasedByte.
int vendor_flash_erase(uint32_t address);

// Programs erased bytes. Address and size are multiples of 32. 0: they are durable.
int vendor_flash_program(uint32_t address, const void* bytes, uint32_t size);

}  // extern "C"
