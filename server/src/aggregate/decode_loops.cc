// The decoder's loops, compiled for AVX2 and for AVX-512. Part of sotto::server/aggregate.
#include "sotto/decode_loops.h"

#include "aggregate/dither_engine.h"
#include "sotto/bytes.h"

#if defined(__x86_64__) && defined(__GNUC__)

namespace sotto::server {
namespace {

// UpdateModel::Context(), from the exponent and the highest fraction bit of 2 D as a float. Its
// lowest three bits are cleared, so the conversion is exact; where they matter, the context is the
// last.
[[gnu::always_inline]] inline void ContextsLoop(Span<const uint64_t> words, uint8_t* contexts) {
  for (size_t i = 0; i < words.size(); ++i) {
    const auto t = static_cast<int32_t>(Dither::Fraction(words[i]));
    const int32_t nearer =
        t > static_cast<int32_t>(kDitherMask / 2) ? static_cast<int32_t>(kDitherMask) - t : t;
    const auto exact = static_cast<float>((2 * nearer + 1) & ~7);
    const int32_t index = 307 - static_cast<int32_t>(FloatBits(exact) >> 22);
    contexts[i] = static_cast<uint8_t>(index < 31 ? index : 31);
  }
}

#define SOTTO_LOOPS(kName, kTarget)                                                          \
  struct kName {                                                                             \
    __attribute__((target(kTarget))) static void Extended(Span<const uint64_t> words,        \
                                                          uint8_t* flags) {                  \
      lrq::ExtendedLoop(words, flags);                                                       \
    }                                                                                        \
    __attribute__((target(kTarget))) static void Contexts(Span<const uint64_t> words,        \
                                                          uint8_t* contexts) {               \
      ContextsLoop(words, contexts);                                                         \
    }                                                                                        \
    __attribute__((target(kTarget))) static void Points(Span<const DitherCell> cells,        \
                                                        const int32_t* m, int32_t* noisy,    \
                                                        uint8_t* unsettled, uint8_t* away) { \
      lrq::PointsLoop(cells, m, noisy, unsettled, away);                                     \
    }                                                                                        \
    __attribute__((target(kTarget))) static void Least(Span<const DitherCell> cells,         \
                                                       int32_t bound_q20, int32_t* m,        \
                                                       uint8_t* unsettled) {                 \
      lrq::LeastLoop(cells, bound_q20, m, unsettled);                                        \
    }                                                                                        \
    __attribute__((target(kTarget))) static void Above(Span<const DitherCell> cells,         \
                                                       int32_t bound_q20, const int32_t* m,  \
                                                       uint8_t* flags) {                     \
      lrq::AboveLoop(cells, bound_q20, m, flags);                                            \
    }                                                                                        \
    static void Set(DecodeEngine* engine) {                                                  \
      engine->extended = Extended;                                                           \
      engine->contexts = Contexts;                                                           \
      engine->points = Points;                                                               \
      engine->least = Least;                                                                 \
      engine->above = Above;                                                                 \
    }                                                                                        \
  }
SOTTO_LOOPS(Avx2Loops, "avx2");
SOTTO_LOOPS(Avx512Loops, "avx512f,avx512vl,avx512dq,avx512bw");

}  // namespace

void SetAvx2Loops(DecodeEngine* engine) { Avx2Loops::Set(engine); }
void SetAvx512Loops(DecodeEngine* engine) { Avx512Loops::Set(engine); }

}  // namespace sotto::server

#endif
