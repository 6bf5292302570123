#include "channel.h"

#include <algorithm>
#include <exception>
#include <unistd.h>
#include <utility>

#include "events.h"

namespace sotto::posix {
namespace {

constexpr size_t kPiece = 512;  // bytes of a read
constexpr uint32_t kForever = UINT32_MAX;
constexpr int kMostPieces = 16;  // of a turn of the loop, so that no wire holds up the others

// So many bytes without a frame are no board's that speaks frames at this wire's rate: it begins
// with short ones, and later the wire damages four of the longest in a row.
constexpr size_t kMostBeforeFrame = 64;
constexpr size_t kMostDamaged = 4 * kLargestSerialFrame;

void Drop(std::vector<uint8_t>* bytes, int count) {
  bytes->erase(bytes->begin(), bytes->begin() + count);
}

}  // namespace

Channel::Channel(const GatewayOptions& options, EventLog& log, int wire, std::string name,
                 uint64_t seed)
    : options_(options),
      log_(log),
      wire_(wire),
      name_(std::move(name)),
      link_memory_(FrameLinkBytes(options.max_frame, options.window)),
      link_(LinkConfigOf(options), {link_memory_.data(), link_memory_.size()}),
      listener_(&link_, std::random_device()()),
      reader_memory_(kLargestSerialFrame),
      reader_({reader_memory_.data(), reader_memory_.size()}),
      losses_(seed) {
  (void)listener_.Start();  // CheckOptions() has checked the sizes
}

Channel::~Channel() { close(wire_); }

bool Channel::Work(uint64_t now_ms) {
  const bool is_there = ReadWire(now_ms) && Move(now_ms);
  if (!is_there) EndBoard();
  return is_there;
}

// False: the wire is gone.
bool Channel::Move(uint64_t now_ms) {
  if (server_state_ == Server::kConnecting) {
    std::vector<WaitingSocket> connecting = {{server_.descriptor(), false, true, false}};
    WaitForSockets(&connecting, 0);
    if (connecting[0].is_ready) {
      if (server_.FinishConnect() == Status::kOk) {
        server_state_ = Server::kConnected;
        log_.End(event::kServerFailed);
      } else {
        EndServer(server_.error());
      }
    }
  }
  MoveToServer();
  MoveToBoard();
  return WriteWire(now_ms);
}

// While the wire is full, that it takes bytes is what the channel waits for.
uint32_t Channel::WaitMs(uint64_t now_ms) const {
  return to_wire_.size() < kPiece ? listener_.WaitMs(now_ms) : kForever;
}

void Channel::AddWaits(std::vector<WaitingSocket>* sockets) const {
  sockets->push_back({wire_, true, !to_wire_.empty(), false});
  if (server_state_ == Server::kConnecting) {
    sockets->push_back({server_.descriptor(), false, true, false});
  } else if (server_state_ == Server::kConnected) {
    sockets->push_back({server_.descriptor(), to_board_.empty(), !to_server_.empty(), false});
  }
}

// A loss of --test-loss.
bool Channel::IsLost() {
  return options_.test_loss > 0 &&
         std::uniform_real_distribution<double>(0, 1)(losses_) < options_.test_loss;
}

bool Channel::ReadWire(uint64_t now_ms) {
  uint8_t piece[kPiece];
  for (int i = 0; i < kMostPieces; ++i) {
    const int got = ReadNow(wire_, piece);
    if (got < 0) return false;
    for (int j = 0; j < got; ++j) {
      if (TakeByte(piece[j]) && !IsLost()) OnFrame(reader_.frame(), now_ms);
    }
    if (got < static_cast<int>(kPiece)) break;
  }
  return true;
}

// True if a whole frame ends with this byte. Another rate, or a program that speaks no frames,
// gives bytes for ever and no frame; a damaged frame here and there is repeated, and nobody need
// know.
bool Channel::TakeByte(uint8_t byte) {
  const bool is_frame = reader_.Feed(byte);
  if (is_frame) log_.End(event::kNoFrames);
  has_frame_ = has_frame_ || is_frame;
  without_frame_ = is_frame ? 0 : without_frame_ + 1;
  if (without_frame_ == (has_frame_ ? kMostDamaged : kMostBeforeFrame)) {
    log_.Write(event::kNoFrames, {{"wire", name_}});
    without_frame_ = 0;
  }
  return is_frame;
}

void Channel::OnFrame(ByteSpan frame, uint64_t now_ms) {
  if (!listener_.OnFrame(frame, now_ms)) return;
  log_.Write(event::kBoardOpened, {{"wire", name_}});
  to_server_.clear();
  to_board_.clear();
  BeginServer();
}

// Frames are made when the wire has taken those before, so the link measures the wire's time.
bool Channel::WriteWire(uint64_t now_ms) {
  do {
    while (to_wire_.size() < kPiece && AddFrame(now_ms)) {
    }
    const int written = to_wire_.empty() ? 0 : WriteNow(wire_, {to_wire_.data(), to_wire_.size()});
    if (written < 0) return false;
    Drop(&to_wire_, written);
  } while (to_wire_.empty() && listener_.WaitMs(now_ms) == 0);
  return true;
}

// False: there is none.
bool Channel::AddFrame(uint64_t now_ms) {
  uint8_t frame[kLargestFrame];
  const size_t size = listener_.NextFrame(now_ms, frame);
  if (size == 0) return false;
  if (IsLost()) return true;
  const size_t before = to_wire_.size();
  to_wire_.resize(before + size + kSerialOverhead);
  (void)EncodeSerialFrame({frame, size}, to_wire_.data() + before);
  return true;
}

void Channel::BeginServer() {
  server_.Close();
  server_state_ = Server::kConnecting;
  const HostPort server = ServerOf(options_);
  try {
    if (server_.BeginConnect(NumericAddress(server.host), server.port) != Status::kOk) {
      EndServer(server_.error());
    }
  } catch (const std::exception& error) {
    EndServer(error.what());
  }
}

// The board's connection ends after the bytes that wait for it, so the board notices.
void Channel::EndServer(const char* reason) {
  if (reason != nullptr) {
    log_.Write(event::kServerFailed, {{"server", options_.server}, {"reason", reason}});
  }
  server_.Close();
  to_server_.clear();
  server_state_ = Server::kEnded;
}

// The board has ended its connection, or is gone with its wire.
void Channel::EndBoard() {
  if (server_state_ == Server::kNone) return;
  const FrameLinkCounts& counts = link_.counts();
  log_.Write(event::kBoardEnded, {{"wire", name_},
                                  {"sent", uint64_t{counts.sent}},
                                  {"repeated", uint64_t{counts.repeated}},
                                  {"received", uint64_t{counts.received}}});
  server_.Close();
  to_board_.clear();
  server_state_ = Server::kNone;
}

void Channel::MoveToServer() {
  if (server_state_ == Server::kNone) return;
  for (;;) {
    if (to_server_.empty()) {
      to_server_.resize(kMostWaiting);
      const int got = link_.Receive(to_server_.data(), to_server_.size());
      to_server_.resize(static_cast<size_t>(std::max(got, 0)));
      if (got < 0) return EndBoard();
    }
    if (server_state_ == Server::kEnded) to_server_.clear();
    if (to_server_.empty() || server_state_ != Server::kConnected) return;
    const int sent = server_.Send({to_server_.data(), to_server_.size()});
    if (sent < 0) return EndServer(nullptr);
    Drop(&to_server_, sent);
    if (sent == 0) return;
  }
}

void Channel::MoveToBoard() {
  for (;;) {
    if (to_board_.empty() && server_state_ == Server::kConnected) {
      to_board_.resize(kMostWaiting);
      const int got = server_.Receive({to_board_.data(), to_board_.size()});
      to_board_.resize(static_cast<size_t>(std::max(got, 0)));
      if (got < 0) EndServer(nullptr);
    }
    if (to_board_.empty()) break;
    const int sent = link_.Send(to_board_.data(), to_board_.size());
    if (sent <= 0) return;
    Drop(&to_board_, sent);
  }
  if (server_state_ == Server::kEnded) link_.Close();
}

}  // namespace sotto::posix
