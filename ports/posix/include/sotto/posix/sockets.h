// Many non-blocking sockets on one thread: waiting for them, and moving their bytes. Part of
// sotto/posix.
//
// For programs whose connections are few enough for poll(). Writing to a connection that the peer
// has closed is an error, never a signal. One thread at a time.
#pragma once

#include <vector>

#include "sotto/span.h"

namespace sotto::posix {

// Send or receive as many bytes as is possible at once. Return their number, 0 if the call would
// block, -1 if the connection is gone.
int SendNow(int socket, ByteSpan bytes);
int ReceiveNow(int socket, MutableByteSpan bytes);
// The same for any other descriptor, such as a serial device.
int WriteNow(int descriptor, ByteSpan bytes);
int ReadNow(int descriptor, MutableByteSpan bytes);

// Has the system send what it is given at once, and not wait for more of it.
void SendAtOnce(int socket);

// Has the system look whether the peer of a TCP connection is there when nothing comes from it. A
// peer that does not answer, or takes no bytes, for kPeerLostMs has gone: the connection then
// fails. It costs a packet each way every kPeerIdleS seconds of silence, and keeps a radio awake.
constexpr int kPeerIdleS = 8;
constexpr int kPeerLostMs = 16'000;
void WatchPeer(int socket);

// Whether the peer's system has acknowledged all bytes that were sent; true if that is not known.
bool HasTakenAll(int socket);

// What somebody waits for.
struct WaitingSocket {
  int descriptor = -1;  // -1: none
  bool for_reading = false;
  bool for_writing = false;
  bool is_ready = false;  // set by WaitForSockets(): one of them is possible, or it has failed
};

// Waits until one of them is ready, or for timeout_ms, or for a signal. Throws std::runtime_error
// if the system fails.
void WaitForSockets(std::vector<WaitingSocket>* sockets, int timeout_ms);

}  // namespace sotto::posix
