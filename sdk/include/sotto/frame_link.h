// A reliable stream of bytes over a link of small frames: BLE, a radio module, CAN FD, a UART.
// Part of sotto/frames. server/PROTOCOL.md, "Links of small frames", has the bytes.
//
// Frames have 20 to 250 bytes. A frame may be lost, or arrive twice, late or in another order. The
// layer below must discard damaged frames, as BLE, CAN, IEEE 802.15.4 and LoRa do. This link adds
// no checksum; on a UART the frames of serial_frames.h have one. A damaged frame that passes ends
// the TLS session above; it never becomes a wrong message.
//
// Each side sends a turn: up to `window` frames, of which the last asks for an answer. The answer
// names the frames that have arrived; the next turn repeats the others. So a turnaround carries a
// whole window, and a lost frame costs one frame. Without an answer the sender repeats the last
// frame, after growing pauses; after `tries` pauses the link is lost. If one side is reset, the
// other side notices with the next frame that it gets or sends: each connection has a number, and a
// frame of an earlier connection never counts as one of the present connection. (A gateway numbers
// 8,191 connections before it reuses a number; it draws the first number at its start.)
//
// The caller moves the frames; the link does no I/O and never waits:
//
//   static uint8_t memory[FrameLinkBytes(20, 16)];
//   static FrameLink link({}, memory);
//   link.Open(nonce, now_ms);                       // four random bytes
//   secure_link.Begin(port, id, secret, {FrameLink::SendTo, FrameLink::ReceiveFrom, &link}, ...);
//   while ((status = secure_link.Exchange(request, &reply)) == Status::kWouldBlock)
//     if (MoveFrames(&link, io, port, 100) != Status::kOk) ...      // or NextFrame() and OnFrame()
//
// RAM: sizeof(FrameLink), at most kFrameLinkSize bytes, and the caller's FrameLinkBytes(). Nothing
// else; MoveFrames() has one frame on the stack. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/port.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

namespace frame {
enum class Kind : uint8_t;
}

constexpr uint8_t kSmallestFrame = 20;  // bytes that each side can send and take, at least
constexpr uint8_t kLargestFrame = 250;
constexpr uint8_t kFrameLinkHeader = 4;  // bytes of each frame before the stream's
constexpr uint8_t kLargestWindow = 32;
constexpr size_t kFrameLinkSize = 136;

struct FrameLinkConfig {
  // The largest frame that this side sends and takes: 20 to 250 bytes. The two sides agree on the
  // smaller one.
  uint8_t max_frame = 20;

  // The most frames of a turn, and that this side holds until they are read: 1, 2, 4, 8, 16 or 32.
  uint8_t window = 16;

  // Pauses, ms, before an unanswered frame is repeated. The first pause is for a link whose round
  // trip time is not known yet, with all frames of a turn; then the link measures this time. Each
  // pause is 1.5 times the previous one, up to the longest, plus a random part of up to a quarter,
  // so two sides that collide do not collide again.
  // 1 <= shortest <= first <= longest <= 600,000.
  uint32_t first_pause_ms = 1000;
  uint32_t shortest_pause_ms = 20;
  uint32_t longest_pause_ms = 8000;

  // The link is lost after this many pauses in a row without an answer: 1 to 255. With the values
  // above that takes one to two minutes.
  uint8_t tries = 16;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// Bytes of the caller's memory for a link: 544 for frames of 20 bytes and a window of 16.
constexpr size_t FrameLinkBytes(size_t max_frame, size_t window) {
  return 2 * window * (max_frame - kFrameLinkHeader + 1);
}

// What has happened since Open(), for logs.
struct FrameLinkCounts {
  uint32_t sent = 0;      // frames, of all kinds
  uint32_t repeated = 0;  // of them: sent before
  uint32_t received = 0;  // frames of this connection
  uint32_t turns = 0;     // turns begun: turnarounds that were waited for
};

class FrameLink {
 public:
  enum class State : uint8_t {
    kClosed,   // there is no connection
    kOpening,  // the other side has not answered yet
    kOpen,
    kClosing,  // Close() was called: what was sent is not all acknowledged yet
    kEnded,    // the other side has closed
    kLost,     // the other side does not answer, or was reset
  };

  //   memory  [FrameLinkBytes(config.max_frame, config.window)] at least; the caller owns it and
  //           uses it for nothing else while there is a connection
  FrameLink(const FrameLinkConfig& config, MutableByteSpan memory);
  FrameLink(const FrameLink&) = delete;
  FrameLink& operator=(const FrameLink&) = delete;

  // Begins a connection, and ends an earlier one. The side that opens sends bytes first.
  //   nonce  random, from Port::entropy: so a late answer to an earlier Open() does not count
  // Returns kOk; kInvalidArgument or kBufferTooSmall for configuration and memory: nothing changes.
  Status Open(uint32_t nonce, uint64_t now_ms);

  // Ends the connection once the other side has acknowledged all bytes. Go on moving frames while
  // the state is kClosing, for as long as you want to wait.
  void Close();

  // Forgets the connection at once. The other side finds out when it sends.
  void Drop();

  // The stream, in the form that TlsIo takes. The functions never wait.
  //   Send     takes up to `size` bytes and says how many: 0 without room or while opening; -1
  //            after the end
  //   Receive  the same for bytes that have arrived: -1 once the connection is over and they are
  //            all read
  int Send(const uint8_t* bytes, size_t size);
  int Receive(uint8_t* out, size_t size);
  static int SendTo(void* link, const uint8_t* bytes, size_t size) {
    return static_cast<FrameLink*>(link)->Send(bytes, size);
  }
  static int ReceiveFrom(void* link, uint8_t* out, size_t size) {
    return static_cast<FrameLink*>(link)->Receive(out, size);
  }

  // The next frame to send now. Call it again until it returns 0. All bytes that Send() has taken
  // before the first call of a turn travel in this turn.
  //   out  [max_frame]
  // Returns the frame's size; 0: none.
  size_t NextFrame(uint64_t now_ms, uint8_t* out);

  // Takes a complete frame that has arrived, and drops a frame of another connection.
  void OnFrame(ByteSpan frame, uint64_t now_ms);

  // Milliseconds until NextFrame() has a frame although none arrives; kNever: it will not.
  static constexpr uint32_t kNever = ~0u;
  uint32_t WaitMs(uint64_t now_ms) const;

  State state() const { return state_; }

  // kOk while opening, open or closing, and where nothing is open; else kLinkLost.
  Status status() const {
    return state_ == State::kLost || state_ == State::kEnded ? Status::kLinkLost : Status::kOk;
  }

  // Whether Receive() has bytes.
  bool can_receive() const { return read_ != next_; }

  const FrameLinkConfig& config() const { return config_; }
  const FrameLinkCounts& counts() const { return counts_; }

 private:
  friend class FrameListener;

  // What the two sides tell each other when they open.
  struct Peer {
    uint16_t connection = 0;  // 0: none
    uint8_t max_frame = 0;
    uint8_t window = 0;
  };

  void Reset(State state);
  void Begin(const Peer& peer);
  void Lose();

  bool MaySend(uint64_t now_ms);
  void AwaitAnswer(uint64_t now_ms);
  void Answered(uint64_t now_ms, uint8_t turn);
  uint32_t PauseMs();

  size_t MakeHead(frame::Kind kind, uint16_t connection, uint16_t number, uint8_t turn,
                  uint8_t* out) const;
  void NextTurn();
  size_t MakeReply(uint8_t* out);
  size_t MakeAck(uint8_t* out);
  size_t NextOpen(uint64_t now_ms, uint8_t* out);
  size_t NextSegment(uint64_t now_ms, uint8_t* out);
  size_t NextWithoutBytes(uint64_t now_ms, uint8_t* out);
  size_t MakeSegment(uint64_t now_ms, uint8_t* out);
  uint32_t DueSegments() const;
  uint32_t Outstanding() const;
  bool IsBlocked() const;

  void OnSegment(uint16_t number, uint8_t turn, bool asks, ByteSpan bytes);
  void OnAck(uint16_t number, uint8_t turn, ByteSpan body, uint64_t now_ms);
  void OnControl(uint16_t control, uint16_t connection, uint8_t turn, ByteSpan body,
                 uint64_t now_ms);
  void OnAccept(uint16_t connection, uint8_t turn, ByteSpan body, uint64_t now_ms);
  void OnStranger(uint16_t connection);

  bool is_live() const {
    return state_ == State::kOpening || state_ == State::kOpen || state_ == State::kClosing;
  }
  uint8_t Room() const;
  size_t slot_size() const { return config_.max_frame - kFrameLinkHeader + size_t{1}; }
  uint8_t* SendSlot(uint16_t number) const;
  uint8_t* ReceiveSlot(uint16_t number) const;

  FrameLinkConfig config_;
  MutableByteSpan memory_;
  State state_ = State::kClosed;
  bool is_acceptor_ = false;
  uint8_t frame_ = 0;  // the largest that both sides take
  uint16_t connection_ = 0;
  uint32_t nonce_ = 0;
  uint32_t chance_ = 0;  // of the pauses

  // Sending. Numbers are modulo 4096. Masks: bit i is segment base_ + i.
  uint16_t base_ = 0;   // the first that is not acknowledged
  uint16_t sent_ = 0;   // behind the last that was ever sent
  uint16_t end_ = 0;    // behind the last that has bytes
  uint16_t limit_ = 0;  // the first for which the other side has no room
  uint32_t acknowledged_ = 0;
  uint32_t due_ = 0;  // still to send in this turn

  // The turn.
  uint8_t turn_ = 0;  // modulo 16
  uint8_t tries_ = 0;
  bool is_waiting_ = false;
  bool measures_ = false;  // the answer's time is one there and back
  uint64_t asked_ms_ = 0;
  uint64_t deadline_ms_ = 0;
  uint32_t mean_8_ = 0;       // of the times there and back, in eighths of ms; 0: not known
  uint32_t deviation_4_ = 0;  // in quarters of ms

  // Receiving.
  uint16_t read_ = 0;       // the first segment that is not read
  uint16_t next_ = 0;       // the first that has not arrived
  uint32_t arrived_ = 0;    // bit i: next_ + i
  uint8_t read_bytes_ = 0;  // of segment read_

  // Replies that wait.
  bool has_ack_ = false;
  uint8_t ack_turn_ = 0;
  uint16_t gone_ = 0;  // a connection that this side does not have; 0: none

  FrameLinkCounts counts_;
};

static_assert(sizeof(FrameLink) <= kFrameLinkSize, "what the head of this file says");

// The functions of a radio that the link calls, in one thread. Both may wait.
//   send     sends a frame of 4 to max_frame bytes, whole. 0: done, or the frame is lost, which the
//            link repairs; negative: the radio is dead. It waits for at most as long as the radio
//            needs for a frame
//   receive  takes the oldest frame that has arrived, or waits up to timeout_ms for one. Returns
//            its size; 0: none; negative: the radio is dead. A frame of more than `size` bytes does
//            not belong to this link: drop it
struct FrameIo {
  int (*send)(void* context, const uint8_t* frame, size_t size) = nullptr;
  int (*receive)(void* context, uint8_t* out, size_t size, uint32_t timeout_ms) = nullptr;
  void* context = nullptr;
};

// Sends all frames that are due, and takes those that arrive; waits for the first for at most
// timeout_ms. Returns kOk, or kLinkLost if the connection or the radio is lost or the other side
// has closed: read what has arrived.
Status MoveFrames(FrameLink* link, const FrameIo& io, const Port& port, uint32_t timeout_ms);

}  // namespace sotto
