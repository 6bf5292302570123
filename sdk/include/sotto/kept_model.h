// A model in flash that survives a reset, with a record of its release. Part of sotto/client.
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
// Torn writes. The record is written after the model, and has its check. A reset within a write, or
// between the two writes, leaves a record of another model, or no complete record. Then release()
// is null: no other model passes for a released one. The client's RestoreModel() computes the check
// of the flash's contents; the server does not know the check of a torn model, and offers another
// base. A reset after the model and before the record costs a fetch without a model's bytes, as the
// device holds the model already.
//
// One place or two. A client writes the model of each round to the same place, which then holds no
// release until the next fetch. A device that must be able to predict at any time has a second
// KeptModel on other pages: after each Keep() it writes base() through the second one's writer(),
// and calls Keep() there, too. After the first release, one of the two has a release at each start.
//
// Wear. Each write erases the pages whose bytes change, and each Keep() of another release erases
// one page. A device of a job writes once a round that it takes part in, and once a fetch.
//
// Only whole models are written: nothing is allocated, and only the last unit is buffered. One
// thread at a time.
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

// Bytes of flash for a model with this many parameters and its record, in whole pages.
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

  // [parameters] the flash's contents. Only release() says whether they are a released model.
  Span<const float> base() const;

  // The writer for ClientBuffers; the object must outlive the client. It skips pages that hold the
  // same bytes, and reads back the bytes that it has written. Its write returns kOk,
  // kInvalidArgument for a model of another size, kStoreFailed if it reads back other bytes, or a
  // status of erase or program.
  ModelWriter writer() { return {Write, this}; }

  // Reads the flash. Call it at the start: it finds out whether the record belongs to the model
  // beside it. Returns kOk, also if there is no record, or kCryptoFailed.
  Status Restore();

  // Records that the flash holds this release. Call it after a fetch. It does nothing if the record
  // says so already. Returns kOk; or kInvalidArgument for a threshold out of range
  // (Release::threshold), kStoreFailed, kCryptoFailed, or a status of erase or program: then there
  // is no release.
  Status Keep(const Release& release);

  // The release that base() holds; null if base() holds no released model, or if it is not known.
  // Its claims are in flash.
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
