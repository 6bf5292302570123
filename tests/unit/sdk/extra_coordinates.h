// Extra coordinates of an update, for tests.
#pragma once

#include "sotto/update_codec.h"

namespace sotto {

// A clip bit; none if it is 0.
inline ExtraCoordinates WithClipBit(int32_t v_q20) {
  ExtraCoordinates extras;
  if (v_q20 != 0) extras.Add(v_q20);
  return extras;
}

}  // namespace sotto
