// One board of a gateway: frames on its wire, and its connection to the server. Part of
// ports/posix/gateway.
//
// The board opens a connection of its frame link, and the channel one to the server; the end of one
// ends the other, after the bytes that have arrived. What waits to be moved is at most kMostWaiting
// bytes in each direction: then the channel stops reading on that side. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "options.h"
#include "sotto/frame_listener.h"
#include "sotto/posix/sockets.h"
#include "sotto/posix/tcp.h"
#include "sotto/serial_frames.h"

namespace sotto::posix {

class Channel {
 public:
  static constexpr size_t kMostWaiting = 4096;

  //   wire  a descriptor that does not block, the channel's from here on
  //   name  of the wire, for the log
  Channel(const GatewayOptions& options, EventLog& log, int wire, std::string name, uint64_t seed);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::string& name() const { return name_; }

  // Moves what can be moved now. False: the wire is gone, and with it the channel.
  bool Work(uint64_t now_ms);

  // What Work() waits for, and for how long at most.
  void AddWaits(std::vector<WaitingSocket>* sockets) const;
  uint32_t WaitMs(uint64_t now_ms) const;

 private:
  using Bytes = std::vector<uint8_t>;

  bool Move(uint64_t now_ms);
  bool ReadWire(uint64_t now_ms);
  bool TakeByte(uint8_t byte);
  bool WriteWire(uint64_t now_ms);
  bool AddFrame(uint64_t now_ms);
  void OnFrame(ByteSpan frame, uint64_t now_ms);
  void BeginServer();
  void MoveToServer();
  void MoveToBoard();
  void EndServer(const char* reason);
  void EndBoard();
  bool IsLost();

  const GatewayOptions& options_;
  EventLog& log_;
  const int wire_;
  const std::string name_;

  Bytes link_memory_;
  FrameLink link_;
  FrameListener listener_;
  Bytes reader_memory_;
  SerialFrameReader reader_;
  bool has_frame_ = false;    // one has arrived
  size_t without_frame_ = 0;  // bytes since the last one
  Bytes to_wire_;             // frames that it has not taken yet
  std::mt19937_64 losses_;

  enum class Server : uint8_t { kNone, kConnecting, kConnected, kEnded };
  Server server_state_ = Server::kNone;
  TcpStream server_;
  Bytes to_server_;
  Bytes to_board_;
};

}  // namespace sotto::posix
