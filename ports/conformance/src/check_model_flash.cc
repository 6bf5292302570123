#include "sotto/conformance/check_model_flash.h"

namespace sotto::conformance {
namespace {

constexpr size_t kPiece = 2 * kProgramUnit;

// Differs from page to page and from round to round, and has each bit set and cleared.
uint8_t ByteAt(size_t offset, uint32_t seed) {
  return static_cast<uint8_t>((static_cast<uint32_t>(offset) * 2654435761u + seed * 40503u) >> 13);
}

bool Holds(const ModelFlash& flash, size_t offset, size_t size, uint32_t seed) {
  for (size_t i = offset; i < offset + size; ++i) {
    if (flash.begin[i] != ByteAt(i, seed)) return false;
  }
  return true;
}

// In pieces of one unit and of two, in turn.
const char* WritePage(const ModelFlash& flash, size_t page, uint32_t seed) {
  if (flash.erase(flash.context, page) != Status::kOk) return "model flash: erasing fails";
  size_t size = kProgramUnit;
  for (size_t at = page; at < page + flash.page_size; at += size) {
    uint8_t piece[kPiece];
    const size_t left = page + flash.page_size - at;
    size = size == kProgramUnit && left >= kPiece ? kPiece : kProgramUnit;
    for (size_t i = 0; i < size; ++i) piece[i] = ByteAt(at + i, seed);
    if (flash.program(flash.context, at, {piece, size}) != Status::kOk) {
      return "model flash: programming fails";
    }
  }
  return Holds(flash, page, flash.page_size, seed)
             ? nullptr
             : "model flash: the CPU reads other bytes than were programmed";
}

}  // namespace

const char* CheckModelFlash(ModelFlash (*open)(), size_t parameters) {
  const ModelFlash flash = open();
  if (KeptModel(flash, parameters).base().empty()) {
    return "model flash: too small, or not as kept_model.h says";
  }
  const size_t size = ModelFlashBytes(parameters, flash.page_size);
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    for (size_t page = 0; page < size; page += flash.page_size) {
      if (const char* rule = WritePage(flash, page, seed)) return rule;
      const size_t next = page + flash.page_size;
      const bool others_stay =
          Holds(flash, 0, page, seed) && (seed == 1 || Holds(flash, next, size - next, 1));
      if (!others_stay) return "model flash: a write changes another page";
    }
  }
  return Holds(open(), 0, size, 2) ? nullptr : "model flash: a reset changes it";
}

}  // namespace sotto::conformance
