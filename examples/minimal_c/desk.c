/* The board of examples/minimal_c on a POSIX system: TLS over TCP to a server on this machine.
 * SOTTO_DEVICE_KEY is the header of `sotto keys export`, SOTTO_PORT the server's port. */
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include SOTTO_DEVICE_KEY
#include "board.h"
#include "sotto_c_link.h"

#ifndef SOTTO_PORT
#define SOTTO_PORT 7177
#endif

enum { SILENCE_MS = 10000 };

static sotto_link link_to_server;
static uint8_t answer[MAX_FRAME];
static int is_made = 0;
static int connection = -1;

const char* board_device_id(void) { return kSottoDeviceId; }

const uint8_t* board_secret(void) { return kSottoDeviceSecret; }

uint64_t board_now_ms(void* context) {
  struct timespec now;
  (void)context;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void board_sleep_ms(uint32_t ms) { poll(NULL, 0, (int)ms); }

sotto_status board_entropy(void* context, uint8_t* out, size_t size) {
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : read(file, out, size);
  (void)context;
  if (file >= 0) close(file);
  return got == (ssize_t)size ? SOTTO_OK : SOTTO_ENTROPY_FAILED;
}

/* The connection does not block: 0 bytes say that there is nothing now. */
static int send_bytes(void* context, const uint8_t* bytes, size_t size) {
  const ssize_t sent = send(connection, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  struct pollfd wait = {connection, POLLOUT, 0};
  (void)context;
  return sent >= 0 ? (int)sent : poll(&wait, 1, 0) == 0 ? 0 : -1;
}

static int receive_bytes(void* context, uint8_t* out, size_t size) {
  struct pollfd wait = {connection, POLLIN, 0};
  (void)context;
  if (poll(&wait, 1, 0) == 0) return 0;
  const ssize_t got = recv(connection, out, size, MSG_DONTWAIT);
  return got > 0 ? (int)got : -1;
}

static sotto_status open_link(void) {
  struct sockaddr_in server = {0};
  sotto_link_config config = {0};
  config.device_id = board_device_id();
  config.secret = board_secret();
  config.port.now_ms = board_now_ms;
  config.port.entropy = board_entropy;
  config.send = send_bytes;
  config.recv = receive_bytes;
  config.resumes = 1;
  if (!is_made && sotto_link_init(&link_to_server, &config, answer, sizeof answer) != SOTTO_OK) {
    return SOTTO_INVALID_ARGUMENT;
  }
  is_made = 1;
  server.sin_family = AF_INET;
  server.sin_port = htons(SOTTO_PORT);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0) return SOTTO_LINK_LOST;
  if (connect(connection, (const struct sockaddr*)&server, sizeof server) != 0)
    return SOTTO_LINK_LOST;
  return sotto_link_begin(&link_to_server);
}

static void close_link(void) {
  close(connection);
  connection = -1;
}

/* One frame out, one frame in; waits for bytes, not longer than SILENCE_MS for each of them. */
static sotto_status exchange(const uint8_t* frame, size_t size, const uint8_t** body,
                             size_t* body_size) {
  sotto_status status = SOTTO_WOULD_BLOCK;
  while (status == SOTTO_WOULD_BLOCK) {
    struct pollfd wait = {connection, POLLIN, 0};
    status = sotto_link_exchange(&link_to_server, frame, size, body, body_size);
    if (status != SOTTO_WOULD_BLOCK) break;
    if (sotto_link_wants_write(&link_to_server)) wait.events = POLLOUT;
    if (poll(&wait, 1, SILENCE_MS) != 1) status = SOTTO_LINK_LOST;
  }
  return status;
}

size_t board_exchange(const uint8_t* frame, size_t size, uint8_t* body) {
  const uint8_t* bytes = NULL;
  size_t i;
  size_t count = 0;
  sotto_status status = connection >= 0 ? SOTTO_OK : open_link();
  if (status == SOTTO_OK) status = exchange(frame, size, &bytes, &count);
  for (i = 0; status == SOTTO_OK && i < count; ++i) body[i] = bytes[i];
  if (status == SOTTO_OK) return count;
  fprintf(stderr, "link: %s\n", sotto_status_name(status));
  if (connection >= 0) close_link();
  board_sleep_ms(1000);
  return 0;
}
