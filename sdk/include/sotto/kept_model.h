// A model in flash that outlives a reset, and what it is. Part of sotto/client.
//
//   static KeptModel kept(board::FlashOfModel(), Net::kParameters);
//   kept.Restore();                                // before the client is made
//   ... MakeClientBuffers<Net>(kept.base(), kept.writer(), update, workspace) ...
//   client.RestoreModel();                         // the next download is a difference from it
//   if (kept.release() != nullptr) ...             // predict from kept.base() (predict.h)
//   ... client.FetchRelease(claims), Step(), OnReply(), until is_fetching() is false ...
//   if (client.release() != nullptr) kept.Keep(*client.release());
//
// The flash has the parameters, float32, little endian, and in the page behind them a record:
//
//   bytes 0..3    "SoMo"
//   byte  4       version: 1, or 2 with a threshold. A new layout takes the next number
//   byte  5       1: the job is over; else 0
//   byte  6       bytes of the claims, at most kMaxClaimsSize
//   byte  7       0
//   bytes 8..11   rounds
//   bytes 12..27  id of the job
//   bytes 28..35  the model's check (model_difference.h)
//   from 36 on    the claims, and zeros up to kMaxClaimsSize
//   of version 2  the release's threshold, float32
//   then          the first 8 bytes of SHA-256 of all before them; 0xff up to whole units
//
// Torn writes. The record is written after the model, and names its check. A reset within a write,
// or between the two, leaves a record that is not of the model beside it, or none that is whole.
// Then release() is null: nothing passes for a released model. The client's RestoreModel() computes
// the check of what is there; the server does not know the check of a torn model, and offers
// another base. A reset after the model and before the record costs a fetch without a model's
// bytes: the device holds it already.
//
// One place or two. A client writes the model of each round to the same place, which then holds no
// release until the next fetch. A device that must be able to predict at any time has a second
// KeptModel on other pages: behind each Keep() it writes base() to the second one with that one's
// writer(), and keeps the release there, too. At each start one of the two has a release, once
// there was one.
//
// Wear. Each write erases the pages whose bytes change, each Keep() of another release one page. A
// device of a job writes once a round that it takes part in, and once a fetch.
//
// Whole models alone are written: nothing is allocated, and no byte is buffered but the last unit.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/client.h"
#include "sotto/paged_store.h"

namespace sotto {

// Flash that the CPU reads like memory.
struct ModelFlash {
  // Where it begins, a multiple of 4, and its bytes: at least ModelFlashBytes(). From a page's
  // first byte on; nothing else writes it.
  const uint8_t* begin = nullptr;
  size_t size = 0;
  size_t page_size = 0;  // bytes; a multiple of kProgramUnit, at least 256

  // Both return kOk, or any other status for a failure. Offsets count from `begin`. They may block.
  // Erases the page that begins there.
  Status (*erase)(void* context, size_t offset) = nullptr;
  // Writes to bytes that are erased. Offset and size are multiples of kProgramUnit. Once it
  // returns, the CPU reads the bytes, and they survive a reset: a cache between is invalidated.
  Status (*program)(void* context, size_t offset, ByteSpan bytes) = nullptr;
  void* context = nullptr;
};

// Bytes of flash for a model of so many parameters and its record, in whole pages.
constexpr size_t ModelFlashBytes(size_t parameters, size_t page_size) {
  return ((sizeof(float) * parameters + page_size - 1) / page_size + 1) * page_size;
}

class KeptModel {
 public:
  //   flash  copied. If it is not as ModelFlash says, base() is empty, and Client::Check() refuses
  //          it
  KeptModel(const ModelFlash& flash, size_t parameters) : flash_(flash), parameters_(parameters) {}
  KeptModel(const KeptModel&) = delete;
  KeptModel& operator=(const KeptModel&) = delete;

  // [parameters] what the flash holds, of which nothing is known but what release() says.
  Span<const float> base() const;

  // For ClientBuffers; the object must outlive the client. It leaves pages alone that hold the same
  // bytes, and reads back what it has written. Its write returns kOk, kInvalidArgument for a model
  // of another size, kStoreFailed if other bytes are read back, or what erase or program returned.
  ModelWriter writer() { return {Write, this}; }

  // Looks into the flash, at the start: whether its record is of the model beside it. Returns kOk,
  // also if there is none, or kCryptoFailed.
  Status Restore();

  // Notes that the flash holds this release, after a fetch. Does nothing if the record says so
  // already. Returns kOk; kInvalidArgument for a threshold that is none (Release::threshold),
  // kStoreFailed, kCryptoFailed, or what erase or program returned: then there is no release.
  Status Keep(const Release& release);

  // What base() holds; null if that is not a released model, or nobody knows. Its claims are in
  // flash.
  const Release* release() const { return has_release_ ? &release_ : nullptr; }

 private:
  static Status Write(void* self, Span<const float> model);
  bool IsUsable() const;
  size_t RecordAt() const {
    return ModelFlashBytes(parameters_, flash_.page_size) - flash_.page_size;
  }
  bool Holds(size_t offset, ByteSpan bytes) const;
  Status Replace(size_t page, ByteSpan bytes);
  Status WritePage(size_t page, ByteSpan bytes);

  ModelFlash flash_;
  size_t parameters_;
  bool has_release_ = false;
  Release release_;
};

}  // namespace sotto
