// A device's own samples: a log in flash that fills while the device works, and the view of it that
// a round trains on. Part of sotto/local.
//
//   SampleLog       a ring of pages. Append() writes a sample behind the newest one; when all pages
//                   are full, the oldest page is erased
//   Windower        cuts a stream of readings into samples
//   SampleSnapshot  the samples that there are when a round begins, for training and for evaluation
//
//   static SampleLog log(board::FlashOfSamples(), kLog);
//   static uint8_t window[kLog.SampleBytes()];
//   static Windower windower(&log, 3, 64, window);          // three axes, a hop of 64 readings
//   static uint32_t marks[kLog.SnapshotWords(kPageSize)];
//   static SampleSnapshot snapshot(&log, kModel, marks);
//   static HeldOut held_out = MakeHeldOut(snapshot.held_out_source());
//
//   log.Open();                                             // at the start
//   config.samples = snapshot.source();                     // of the client: each round takes the
//   config.held_out = &held_out;                            // snapshot by itself
//   ... windower.Push(reading) at each reading, log.LabelNext(kWalk, 20) when a button says so
//
// Resets. Every sample for which Append() returned kOk, and every label for which Label() returned
// kOk, is there after the next Open(), until the ring comes round to its page. A sample that a
// reset has torn is never read: each sample has a checksum, which also covers its sequence number.
// A reset within Append() may still keep the sample, although Append() had not returned.
//
// Sequence numbers. Each sample has one. They increase, and skip numbers where a write was torn. A
// number is a place: with S samples a page, it is sample number % S of page number / S, counted
// over all pages that the log has begun. So the numbers go on after a reset, and none is used
// twice.
//
// Wear. Each page is erased once a lap, when it becomes the newest page. No page of a snapshot is
// erased, see SampleLogConfig::reserve_pages.
//
// In flash, little-endian:
//
//   page    32 bytes  the head: "SoLg", version 1, element, pages (u16), height, width and channels
//                     of a sample (u32 each), scale (float32), how many pages the log has begun
//                     before this one (u32), CRC-32 of these 28 bytes
//           then      the samples, each in whole units of kProgramUnit
//   sample  32 bytes  erased until the sample gets its label later: label (u32), CRC-32 of sequence
//                     number and label
//           4 bytes   label, u32; 0xffffffff: none
//           4 bytes   CRC-32 of sequence number (u32), label and elements
//           then      the elements in the order of the shape, its last axis fastest
//
// The CRC-32 has the polynomial of IEEE 802.3. It finds damage; it keeps no attacker out.
//
// Nothing is allocated. One thread at a time for a log with its windower and its snapshot; not in
// an interrupt, as a write to flash blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/layer.h"
#include "sotto/model_info.h"
#include "sotto/paged_store.h"
#include "sotto/sample_source.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// What a number is in flash. Values are in flash: never renumber.
enum class SampleElement : uint8_t { kByte = 1, kInt16 = 2, kFloat32 = 3 };

constexpr size_t BytesOf(SampleElement element) {
  return element == SampleElement::kByte ? 1 : element == SampleElement::kInt16 ? 2 : 4;
}

// Which samples are held out: of each `period` consecutive sequence numbers the last `run` ones.
// The rule looks at nothing but the number, so a sample stays on its side for as long as it lives,
// over resets and laps. Keep the rule the same in every job.
//
// Windows overlap, so neighbouring windows share readings: with every k-th window held out, the
// device would evaluate on readings that it has trained on. Therefore whole runs are held out, and
// the `gap` windows on both sides of a run are neither trained on nor held out. A run of a minute
// or more also separates readings that are alike because they are close in time.
struct HeldOutRule {
  uint32_t period = 0;  // 0: no sample is held out
  uint32_t run = 0;     // at least 1, and run + 2 * gap < period
  uint32_t gap = 0;     // OverlapOf(window, hop)

  constexpr bool IsValid() const {
    return period == 0 || (run > 0 && uint64_t{run} + 2 * uint64_t{gap} < period);
  }
  constexpr bool IsHeldOut(uint32_t sequence) const {
    return period != 0 && sequence % period >= period - run;
  }
  constexpr bool IsForTraining(uint32_t sequence) const {
    if (period == 0) return true;
    const uint32_t place = sequence % period;
    return place >= gap && place < period - run - gap;
  }
};

// How many windows on each side of a window have readings in common with it.
//   hop  > 0
constexpr uint32_t OverlapOf(uint32_t window, uint32_t hop) {
  return window == 0 ? 0 : (window - 1) / hop;
}

struct SampleLogConfig {
  uint32_t pages = 0;  // of the PageMemory, which has no other use; 2 + reserve_pages to 65535
  nn::Shape shape;     // of a sample: what the model takes, raw
  SampleElement element = SampleElement::kInt16;
  float scale = 1.0f;  // a sample's value is element * scale; finite, above 0
  HeldOutRule held_out = {};
  // Pages that a snapshot of a full ring leaves to new samples. Once they are full, Append()
  // refuses samples until the snapshot is released.
  uint32_t reserve_pages = 1;

  // Elements of a sample; 0 if they are more than a uint32_t counts.
  constexpr uint32_t Elements() const {
    const uint64_t plane = uint64_t{shape.height} * shape.width;
    const uint64_t all = plane <= UINT32_MAX ? plane * shape.channels : 0;
    return all <= UINT32_MAX ? static_cast<uint32_t>(all) : 0;
  }
  constexpr size_t SampleBytes() const { return Elements() * BytesOf(element); }
  // Bytes of flash for a sample.
  constexpr size_t SlotBytes() const {
    return kProgramUnit + (8 + SampleBytes() + kProgramUnit - 1) / kProgramUnit * kProgramUnit;
  }
  // Samples of a page.
  constexpr size_t SlotsOf(size_t page_size) const {
    return page_size < kProgramUnit ? 0 : (page_size - kProgramUnit) / SlotBytes();
  }
  // Samples that the log holds at least once it is full, if no write was torn.
  constexpr size_t Capacity(size_t page_size) const {
    return pages == 0 ? 0 : (pages - 1) * SlotsOf(page_size);
  }
  // Elements of the memory of a SampleSnapshot: two bits for each sample.
  constexpr size_t SnapshotWords(size_t page_size) const {
    return 2 * ((pages * SlotsOf(page_size) + 31) / 32);
  }
};

// No label.
constexpr uint32_t kUnlabelled = 0xffffffff;

class SampleLog {
 public:
  SampleLog(const PageMemory& memory, const SampleLogConfig& config)
      : memory_(memory), config_(config) {}
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  // Looks for the newest sample: reads the heads of all pages and one page whole. Call it at the
  // start, and before all others. Pages that hold no part of a log count as empty: new memory needs
  // no preparation, whatever is in it. Returns
  //   kOk               the log takes samples
  //   kInvalidArgument  the configuration or PageMemory::page_size is outside its range, or a page
  //                     has no room for a sample
  //   kMismatch         the pages hold a log of other samples: another element, shape, scale or
  //                     number of pages. Format() forgets them
  //   kStoreFailed      no page can be read. One that cannot counts as damaged
  //   kWrongState       a snapshot is held
  Status Open();

  // Forgets all samples: erases all pages, whatever they hold, and opens the log. Sequence numbers
  // begin at 0 again. Returns the statuses of Open(), kStoreFailed also if a page cannot be erased.
  // After a reset within the call, call it again.
  Status Format();

  // Writes a sample behind the newest one, and reads it back.
  //   raw       [SampleBytes()] elements, little-endian
  //   sequence  its sequence number; may be null
  // Returns
  //   kOk               it is in flash
  //   kWrongState       the log is not open; or the next page belongs to the snapshot that is held:
  //                     the sample is dropped, and so are later ones until the snapshot is released
  //   kInvalidArgument  `raw` has another size
  //   kStoreFailed      the memory has failed, or other bytes were read back: the sample is not in
  //                     the log. The next call takes the next place, or the next page where one
  //                     cannot be erased: a bad page costs one call a lap, and its samples' place
  //   kOutOfRange       there have been 2^32 samples
  Status Append(ByteSpan raw, uint32_t* sequence = nullptr);

  // Gives this label to the next `count` samples that are appended. Call it, for example, when a
  // button announces an activity. Count 0 ends it: later samples have no label. The label is kept
  // in RAM, so a reset also ends it.
  //   label  not kUnlabelled
  void LabelNext(uint32_t label, uint32_t count);

  // Labels a sample that has no label yet. Each sample has room for one label in its life. A
  // snapshot that is held does not change. Returns
  //   kOk               the label is in flash
  //   kInvalidArgument  `label` is kUnlabelled
  //   kOutOfRange       there is no such sample: it is overwritten, torn, or not there yet
  //   kWrongState       the log is not open; or the sample has a label, or a reset has torn the one
  //                     that it was to get
  //   kStoreFailed      the memory has failed
  Status Label(uint32_t sequence, uint32_t label);

  // Reads a sample and checks it.
  //   raw    [SampleBytes()] little-endian; unspecified after a failure
  //   label  kUnlabelled if it has none
  // Returns kOk, kWrongState if the log is not open, kInvalidArgument for `raw` of another size,
  // kOutOfRange as above, or kStoreFailed.
  Status Read(uint32_t sequence, MutableByteSpan raw, uint32_t* label) const;

  // The existing samples have numbers from begin() to end() - 1, with gaps. The next sample's
  // number is end() or above.
  uint32_t begin() const { return FirstLap() * slots_; }
  uint32_t end() const { return has_page_ ? lap_ * slots_ + slot_ : 0; }

  const SampleLogConfig& config() const { return config_; }
  bool is_open() const { return is_open_; }

 private:
  friend class SampleSnapshot;
  struct Head;
  class Crc;

  static constexpr uint32_t kNoLap = 0xffffffff;

  bool IsUsable() const;
  Head HeadOf(uint32_t lap) const;
  Status FindNewestPage();
  Status StartPage();
  Status WriteSample(uint32_t sequence, uint32_t label, ByteSpan raw) const;
  bool HasPage(uint32_t lap) const;
  bool Exists(uint32_t sequence) const;
  bool IsBlank(uint32_t page, size_t offset, size_t size) const;
  bool IsWhole(uint32_t sequence, uint32_t* label) const;
  uint32_t LateLabel(uint32_t sequence) const;
  Status ReadAt(uint32_t page, size_t offset, MutableByteSpan out) const {
    return memory_.read(memory_.context, page, offset, out);
  }
  uint32_t FirstLap() const { return lap_ < config_.pages ? 0 : lap_ + 1 - config_.pages; }
  uint32_t PageOf(uint32_t sequence) const { return sequence / slots_ % config_.pages; }
  size_t OffsetOf(uint32_t sequence) const {
    return kProgramUnit + sequence % slots_ * config_.SlotBytes();
  }

  PageMemory memory_;
  SampleLogConfig config_;
  uint32_t slots_ = 1;  // of a page
  bool is_open_ = false;
  bool has_page_ = false;
  uint32_t lap_ = 0;   // of the newest page: how many pages were begun before it
  uint32_t slot_ = 0;  // of the newest page: the next one to write
  uint32_t label_ = kUnlabelled;
  uint32_t labels_left_ = 0;
  uint32_t held_from_ = kNoLap;  // the oldest page of the snapshot that is held
};

// Cuts a stream of readings into samples of a log: windows of equal length, each beginning `hop`
// readings after the previous one. A reading has one value for each axis; a sample is
// [reading][axis].
//
// Call Restart() after a pause or lost readings, so no window has a gap.
class Windower {
 public:
  //   log     outlives the windower; need not be open yet
  //   axes    values of a reading; the log's SampleLogConfig::Elements() are a multiple of it
  //   hop     readings from the beginning of a window to the beginning of the next, at least 1, for
  //           example half a window. With a hop above a window some readings are left out
  //   memory  [SampleBytes()] of the log, holds the window under way; outlives the windower
  Windower(SampleLog* log, uint32_t axes, uint32_t hop, MutableByteSpan memory)
      : log_(log), axes_(axes), hop_(hop), memory_(memory) {}

  // Takes a reading. A value is divided by the log's scale, rounded to the nearest element, half
  // away from zero, and limited to the element's range.
  //   values  [axes] finite; or NaN, a missing number, if the log's elements are float32
  // Returns kOk, kInvalidArgument if the sizes do not fit, kNotFinite, or a status of Append() for
  // the window that the reading completes. With kInvalidArgument and kNotFinite the reading is not
  // taken. A window that Append() refused is dropped, and the stream goes on.
  Status Push(Span<const float> values);

  // The same with elements of the log, little-endian: [axes * BytesOf(element)].
  Status PushRaw(ByteSpan reading);

  // Forgets the readings of the window under way: the next reading begins a window. Call it with
  // LabelNext(), so that a label's first window has no reading from before.
  void Restart() { filled_ = skip_ = 0; }

 private:
  bool IsValid() const;
  size_t ReadingBytes() const { return axes_ * BytesOf(log_->config().element); }

  SampleLog* log_;
  uint32_t axes_;
  uint32_t hop_;
  MutableByteSpan memory_;
  size_t filled_ = 0;  // bytes
  uint32_t skip_ = 0;  // readings
};

// The samples that a log holds at one moment, as a model takes them. While the snapshot is held,
// their pages are not erased: each index gives the same sample.
//
//   which samples     the complete ones, on the pages that the ring does not need next
//                     (SampleLogConfig::reserve_pages)
//   a model of        only samples with a label below its classes. A sample that gets its label
//   classes           while the snapshot is held is in the next snapshot
//   an autoencoder    all samples; labels are ignored
//
// Taking it reads all of its samples once, to check them.
class SampleSnapshot {
 public:
  //   log, model  outlive the snapshot
  //   memory      [SnapshotWords()] of the log's configuration; outlives the snapshot
  SampleSnapshot(SampleLog* log, const ModelInfo& model, Span<uint32_t> memory)
      : log_(log), model_(model), memory_(memory) {}
  ~SampleSnapshot() { Release(); }
  SampleSnapshot(const SampleSnapshot&) = delete;
  SampleSnapshot& operator=(const SampleSnapshot&) = delete;

  // Takes the log's present samples and holds them. It first releases a snapshot that is held.
  // After a failure there are no samples. Returns
  //   kOk               also if there are no samples
  //   kWrongState       the log is not open, or another snapshot of it is held
  //   kMismatch         the model takes other samples: another number of inputs, tokens, or a
  //                     vector as target
  //   kBufferTooSmall   `memory`
  Status Take();

  // Gives the pages back to the ring. Afterwards the snapshot has no samples.
  void Release();

  // The samples for training, and the held-out samples. LocalRound, and so Client, takes the
  // snapshot when a round begins and releases it when its training is over: the program does not
  // call Take(). If Take() fails, the round has no samples (take_status()). Without a LocalRound,
  // for example with PeerNode, call Take() first.
  // The sources return kWrongState if no snapshot is held, and kStoreFailed if the memory fails.
  SampleSource source();
  SampleSource held_out_source();

  Status take_status() const { return take_status_; }  // of the last Take()

 private:
  static Status ReadTraining(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadHeldOut(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static uint32_t Begin(void* context);
  static uint32_t HeldOutCount(void* context);
  static void End(void* context);

  Status Check() const;
  void Mark(uint32_t sequence);
  Status Read(Span<const uint32_t> marks, uint32_t index, Span<float> features,
              uint32_t* label) const;
  Span<uint32_t> TrainingMarks() const { return memory_.first(memory_.size() / 2); }
  Span<uint32_t> HeldOutMarks() const { return memory_.subspan(memory_.size() / 2); }

  SampleLog* log_;
  const ModelInfo& model_;
  Span<uint32_t> memory_;  // a bit for each sample from first_ on: for training, then held out
  bool is_held_ = false;
  uint32_t first_ = 0;  // sequence number
  uint32_t training_ = 0;
  uint32_t held_out_ = 0;
  Status take_status_ = Status::kOk;
};

}  // namespace sotto
