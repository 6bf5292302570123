/* A device's link to the server for programs in C (C99 or later): frames inside TLS.
 * Part of sotto/c, in the library sotto::tls.
 *
 *   static sotto_link link;                                   the caller's memory
 *   static uint8_t answer[1024];                              [max_frame of the client]
 *   sotto_link_init(&link, &config, answer, sizeof answer);   once
 *
 *   open a connection;
 *   status = sotto_link_begin(&link);                         for each connection
 *   while (status == SOTTO_OK) {
 *     sotto_client_request(&client, frame, sizeof frame, &size);
 *     do status = sotto_link_exchange(&link, frame, size, &body, &body_size);
 *     while (status == SOTTO_WOULD_BLOCK);                    the board may sleep for bytes
 *     if (status == SOTTO_OK) sotto_client_reply(&client, body, body_size);
 *     ...
 *   }
 *   sotto_link_close(&link);
 *   close the connection;
 *   sotto_client_link_lost(&client);
 *
 * No call waits. Any status but SOTTO_OK and SOTTO_WOULD_BLOCK means that the link is dead: open a
 * new connection after a pause, and begin again. sotto/secure_link.h explains the statuses.
 * The link itself uses no heap; Mbed TLS allocates a session's buffers (sotto/tls.h). One thread at
 * a time.
 */
#ifndef SOTTO_C_LINK_H_
#define SOTTO_C_LINK_H_

#include "sotto_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros are the defaults of what is not said to be required.
 *   send  takes up to `size` >= 1 bytes; returns how many it took, 0 if it can take none now, a
 *         negative number if the connection is lost
 *   recv  the same for arriving bytes; a connection that the server closed counts as lost
 * Neither may block. */
typedef struct {
  const char* device_id; /* required: the same as the client's */
  const uint8_t* secret; /* required: [SOTTO_SECRET_SIZE]; copied, wiped by sotto_link_destroy() */
  sotto_port port;       /* required */
  int (*send)(void* context, const uint8_t* bytes, size_t size); /* required */
  int (*recv)(void* context, uint8_t* out, size_t size);         /* required */
  void* context;
  uint16_t max_fragment; /* most bytes in a record: 512, 1024, 2048, 4096; 0: 16384 */
  int resumes;           /* not 0: the next session resumes this one (sotto/tls_tickets.h) */
} sotto_link_config;

/* Bytes of a link on a machine of 32-bit pointers and on one of 64-bit pointers. */
#define SOTTO_LINK_SIZE (sizeof(void*) > 4 ? 3072 : 2304)

/* The caller's memory for a link; only the SDK uses its contents. It may not be copied. */
typedef union {
  uint64_t align[2];
  uint8_t bytes[SOTTO_LINK_SIZE];
} sotto_link;

/* Makes a link in the memory. The device's id and the contexts' objects must outlive it.
 *   receive  [size] for a frame's body, which sotto_link_exchange() gives; must outlive the link
 * Returns SOTTO_OK, or SOTTO_INVALID_ARGUMENT if a field is missing: there is then no link. */
sotto_status sotto_link_init(sotto_link* link, const sotto_link_config* config, uint8_t* receive,
                             size_t size);

/* Wipes the secret, the session and the data for its resumption. The memory may be used again. */
void sotto_link_destroy(sotto_link* link);

/* Starts a session on a new connection. SOTTO_OK, SOTTO_INVALID_ARGUMENT, SOTTO_ENTROPY_FAILED or
 * SOTTO_CRYPTO_FAILED (also: no memory). */
sotto_status sotto_link_begin(sotto_link* link);

/* Sends as much of the frame, or receives as much of its answer, as is possible now.
 *   frame  of sotto_client_request(); the same bytes until the answer is complete
 *   body   of the answer, valid until the next exchange
 * Returns SOTTO_OK when the answer is complete, SOTTO_WOULD_BLOCK, SOTTO_INVALID_ARGUMENT without a
 * frame, or the status that ended the link. */
sotto_status sotto_link_exchange(sotto_link* link, const uint8_t* frame, size_t frame_size,
                                 const uint8_t** body, size_t* body_size);

/* Ends the session; tells the server if the connection takes the bytes at once. */
void sotto_link_close(sotto_link* link);

/* After SOTTO_WOULD_BLOCK, not 0: the connection must take bytes first. */
int sotto_link_wants_write(const sotto_link* link);

/* Not 0: the server has proved that it knows the device's secret. */
int sotto_link_is_authenticated(const sotto_link* link);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_C_LINK_H_ */
