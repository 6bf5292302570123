// Flash that does what a kept model needs passes the check, and flash that breaks a rule is found
// out.
#include "sotto/conformance/check_model_flash.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace sotto {
namespace {

constexpr size_t kPage = 512;
constexpr size_t kParameters = 200;
constexpr size_t kPages = ModelFlashBytes(kParameters, kPage) / kPage;
static_assert(kPages == 3);

struct FaultyFlash {
  enum class Fault {
    kNone,
    kErases,      // erasing fails
    kPrograms,    // programming fails
    kStaysSet,    // nothing is erased: programming clears bits alone
    kStaleCache,  // the CPU reads what was there before
    kMirror,      // the second page is the first one
    kForgets,     // a reset loses all
    kSmall,
  } fault = Fault::kNone;
  std::vector<uint32_t> words = std::vector<uint32_t>(kPages * kPage / 4);

  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(words.data()); }
  size_t Mapped(size_t offset) const {
    return fault == Fault::kMirror && offset / kPage == 1 ? offset - kPage : offset;
  }

  static Status Erase(void* context, size_t offset) {
    auto* self = static_cast<FaultyFlash*>(context);
    if (self->fault == Fault::kErases) return Status::kStoreFailed;
    if (self->fault != Fault::kStaysSet && self->fault != Fault::kStaleCache) {
      std::fill_n(self->bytes() + self->Mapped(offset), kPage, uint8_t{0xff});
    }
    return Status::kOk;
  }

  static Status Program(void* context, size_t offset, ByteSpan in) {
    auto* self = static_cast<FaultyFlash*>(context);
    if (self->fault == Fault::kPrograms) return Status::kStoreFailed;
    if (self->fault == Fault::kStaleCache) return Status::kOk;
    uint8_t* const at = self->bytes() + self->Mapped(offset);
    for (size_t i = 0; i < in.size(); ++i) at[i] = static_cast<uint8_t>(at[i] & in[i]);
    return Status::kOk;
  }
};

FaultyFlash g_flash;

ModelFlash OpenFaulty() {
  using Fault = FaultyFlash::Fault;
  if (g_flash.fault == Fault::kForgets) std::fill(g_flash.words.begin(), g_flash.words.end(), 0);
  const size_t size = kPages * kPage - (g_flash.fault == Fault::kSmall ? kPage : 0);
  return {g_flash.bytes(), size, kPage, FaultyFlash::Erase, FaultyFlash::Program, &g_flash};
}

const char* RuleBrokenBy(FaultyFlash::Fault fault) {
  g_flash = {};
  g_flash.fault = fault;
  return conformance::CheckModelFlash(OpenFaulty, kParameters);
}

TEST(CheckModelFlash, ABrokenFlashIsNamed) {
  using Fault = FaultyFlash::Fault;
  const char* const kOther = "model flash: the CPU reads other bytes than were programmed";
  EXPECT_STREQ(RuleBrokenBy(Fault::kNone), nullptr);
  EXPECT_STREQ(RuleBrokenBy(Fault::kErases), "model flash: erasing fails");
  EXPECT_STREQ(RuleBrokenBy(Fault::kPrograms), "model flash: programming fails");
  EXPECT_STREQ(RuleBrokenBy(Fault::kStaysSet), kOther);
  EXPECT_STREQ(RuleBrokenBy(Fault::kStaleCache), kOther);
  EXPECT_STREQ(RuleBrokenBy(Fault::kMirror), kOther);
  EXPECT_STREQ(RuleBrokenBy(Fault::kForgets), "model flash: a reset changes it");
  EXPECT_STREQ(RuleBrokenBy(Fault::kSmall), "model flash: too small, or not as kept_model.h says");
}

}  // namespace
}  // namespace sotto
