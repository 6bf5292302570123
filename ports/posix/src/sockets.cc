#include "sotto/posix/sockets.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace sotto::posix {
namespace {

int NoneOrGone() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1; }

int Sent(ssize_t count) { return count >= 0 ? static_cast<int>(count) : NoneOrGone(); }

// Nothing is the end.
int Got(ssize_t count) {
  if (count > 0) return static_cast<int>(count);
  return count == 0 ? -1 : NoneOrGone();
}

}  // namespace

int SendNow(int socket, ByteSpan bytes) {
  return Sent(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

int ReceiveNow(int socket, MutableByteSpan bytes) {
  return Got(recv(socket, bytes.data(), bytes.size(), 0));
}

int WriteNow(int descriptor, ByteSpan bytes) {
  return Sent(write(descriptor, bytes.data(), bytes.size()));
}

int ReadNow(int descriptor, MutableByteSpan bytes) {
  return Got(read(descriptor, bytes.data(), bytes.size()));
}

void SendAtOnce(int socket) {
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Some of these options may be missing: the connection is then lost later.
void WatchPeer(int socket) {
  const auto set = [socket](int level, int option, int value) {
    (void)setsockopt(socket, level, option, &value, sizeof(value));
  };
  constexpr int kEveryS = 2;
  set(IPPROTO_TCP, TCP_KEEPIDLE, kPeerIdleS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kEveryS);
  set(IPPROTO_TCP, TCP_KEEPCNT, (kPeerLostMs / 1000 - kPeerIdleS) / kEveryS);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kPeerLostMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool HasTakenAll(int socket) {
  int waiting = 0;
  return ioctl(socket, TIOCOUTQ, &waiting) != 0 || waiting == 0;
}

void WaitForSockets(std::vector<WaitingSocket>* sockets, int timeout_ms) {
  std::vector<pollfd> polled;
  for (const WaitingSocket& socket : *sockets) {
    const int events = (socket.for_reading ? POLLIN : 0) | (socket.for_writing ? POLLOUT : 0);
    polled.push_back({socket.descriptor, static_cast<short>(events), 0});
  }
  if (poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR) {
    throw std::runtime_error("waiting for connections failed: " +
                             std::generic_category().message(errno));
  }
  for (size_t i = 0; i < polled.size(); ++i) (*sockets)[i].is_ready = polled[i].revents != 0;
}

}  // namespace sotto::posix
