/* What examples/minimal_c asks of a board, on a desk: a link to a server whose job is over. */
#include <string.h>

#include "board.h"

/* A Reply whose message is Done: field 3, empty. */
size_t board_exchange(const uint8_t* frame, size_t size, uint8_t* body) {
  if (size < 2 || size != 2u + frame[0] + 256u * frame[1]) return 0;
  body[0] = 3 << 3 | 2;
  body[1] = 0;
  return 2;
}

void board_sleep_ms(uint32_t ms) { (void)ms; }

uint64_t board_now_ms(void* context) {
  (void)context;
  return 0;
}

sotto_status board_entropy(void* context, uint8_t* out, size_t size) {
  (void)context;
  memset(out, 1, size);
  return SOTTO_OK;
}

const char* board_device_id(void) { return "board-1"; }

const uint8_t* board_secret(void) {
  static const uint8_t secret[SOTTO_SECRET_SIZE] = {1};
  return secret;
}
