/* What examples/minimal_c asks of a board. desk.c has it for a POSIX system. */
#ifndef BOARD_H_
#define BOARD_H_

#include "sotto_c.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_FRAME = 1024 };

/* Sends a frame and waits for the one that answers it.
 *   body  [MAX_FRAME] for the answer without its first two bytes, its length
 * Returns that length, or 0: the link was cut. */
size_t board_exchange(const uint8_t* frame, size_t size, uint8_t* body);
void board_sleep_ms(uint32_t ms);
uint64_t board_now_ms(void* context);
sotto_status board_entropy(void* context, uint8_t* out, size_t size);
const char* board_device_id(void);
/* 32 random bytes, known to this device and the server only. */
const uint8_t* board_secret(void);

#ifdef __cplusplus
}
#endif

#endif /* BOARD_H_ */
