// Checks that a port's flash for a model is what sotto/kept_model.h needs. Part of
// ports/conformance.
//
// Run it on the board itself, before it keeps a model: it overwrites the flash, and erases each
// page twice. It needs no heap and no operating system; 1 kB of stack. One thread.
#pragma once

#include "sotto/kept_model.h"

namespace sotto::conformance {

// The flash is as ModelFlash says, and has room for the model. An erase changes no other page, and
// makes its page ready to be programmed, in one call or in several. The CPU reads what was
// programmed, at once and after the flash is opened anew.
//   open        gives the flash as after a reset
//   parameters  of the model
// Returns nullptr, or in words the rule that is broken.
const char* CheckModelFlash(ModelFlash (*open)(), size_t parameters);

}  // namespace sotto::conformance
