// The functions that the bring-up calls on a board: four of ports/template, and six more. Part of
// examples/bring_up. emulated_board.cc has them for the boards that QEMU emulates.
//
// One thread; none of them is called in an interrupt.
#pragma once

#include "sotto/frame_link.h"
#include "sotto/persistent_store.h"
#include "sotto/port.h"

namespace sotto::board {

// Starts clock, generator and UART. Called once, before everything else.
void Start();

// Shows a line, without its end, to the person at the desk: by a debugger, a second UART, a
// display. The UART of Frames() works, too: sotto-gateway drops bytes that are no frame, and the
// lines come again once the round is over. This function adds the ends of lines.
void Say(const char* line);

// Returns after at least this many milliseconds; an interrupt may end a sleep, not this call.
void SleepMs(uint32_t ms);

// The board in a few words: "NUCLEO-F446RE, 180 MHz".
const char* Name();

// Bytes of stack used so far, at the deepest; 0: the board does not know.
uint32_t StackUsed();

// Called after the last line. Ends the program, with the number of failures as its exit status,
// where a program can end an emulator or a debugger. Returns elsewhere: the program then prints the
// lines again every ten seconds, for a terminal that is opened late.
void End(int failures);

// As sotto/template/port.h has them. Store() must find its records in the memory each time that it
// is called, or at its first call after a reset.
Port SystemPort();
FrameIo Frames();
PersistentStore Store();

// Drops the bytes that have arrived: they belong to a connection that is over.
void RestartLink();

}  // namespace sotto::board
