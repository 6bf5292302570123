#include "sotto/publication.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/integer_code.h"

namespace sotto {
namespace {

constexpr uint8_t kMagic[4] = {'S', 'P', 'B', '1'};
constexpr uint8_t kRaw = 0;
constexpr uint8_t kRange = 1;
constexpr uint32_t kMaxDigits = 25;  // of |q|: 2^24 has 25
constexpr int32_t kMostUnits = 1 << 24;

// Bytes of a code: they are written, or compared with a code that is there, or only counted.
struct Sink {
  uint8_t* out = nullptr;
  const uint8_t* expected = nullptr;
  size_t limit = 0;
  size_t size = 0;
  bool is_equal = true;  // to `expected`, as far as it goes

  void Put(ByteSpan bytes) {
    for (const uint8_t byte : bytes) {
      if (size < limit && out != nullptr) out[size] = byte;
      if (size < limit && expected != nullptr) is_equal = is_equal && expected[size] == byte;
      ++size;
    }
  }
};

// q of a parameter; false if it is no multiple of 2^(shift - 20), or too large.
bool TakeApart(float parameter, uint32_t shift, int32_t* q) {
  if (!(parameter <= kMaxPublishedParameter && parameter >= -kMaxPublishedParameter)) return false;
  const int32_t units = PublishedUnits(parameter);
  *q = units / (int32_t{1} << shift);
  return PublishedParameter(*q * (int32_t{1} << shift)) == parameter;
}

// The range code of all parameters. False if one of them has no q.
bool Code(Span<const float> parameters, uint32_t shift, Sink* sink) {
  IntegerEncoder<kMaxDigits, Sink> coder(sink);
  for (const float parameter : parameters) {
    int32_t q = 0;
    if (!TakeApart(parameter, shift, &q)) return false;
    coder.Add(q);
  }
  coder.Finish();
  return true;
}

void CodeRaw(Span<const float> parameters, uint32_t shift, Sink* sink) {
  for (const float parameter : parameters) {
    int32_t q = 0;
    (void)TakeApart(parameter, shift, &q);
    uint8_t bytes[4];
    StoreU32Le(static_cast<uint32_t>(q), bytes);
    sink->Put(bytes);
  }
}

void StoreHeader(const PublicationHeader& header, uint8_t coding, uint8_t* out) {
  __builtin_memcpy(out, kMagic, sizeof(kMagic));
  __builtin_memcpy(out + 4, header.job_id, kJobIdSize);
  StoreU32Le(header.version, out + 20);
  StoreU32Le(header.node, out + 24);
  __builtin_memcpy(out + 28, header.parent, kSha256Size);
  out[60] = static_cast<uint8_t>(header.shift);
  out[61] = coding;
  out[62] = out[63] = 0;
}

// The parameter of q; false if it is beyond `most`.
bool PutTogether(int32_t q, uint32_t shift, float most, float* parameter) {
  const int64_t units = int64_t{q} * (int64_t{1} << shift);
  if (units > kMostUnits || units < -kMostUnits) return false;
  *parameter = PublishedParameter(static_cast<int32_t>(units));
  return *parameter <= most && *parameter >= -most;
}

bool DecodeRange(ByteSpan code, uint32_t shift, float most, Span<float> parameters) {
  RangeDecoder decoder(code);
  DigitModel<kMaxDigits> model;
  for (float& parameter : parameters) {
    if (!PutTogether(DecodeInteger(&decoder, &model), shift, most, &parameter)) return false;
  }
  return true;
}

bool DecodeRaw(ByteSpan code, uint32_t shift, float most, Span<float> parameters) {
  if (code.size() != 4 * parameters.size()) return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto q = static_cast<int32_t>(LoadU32Le(code.data() + 4 * i));
    if (!PutTogether(q, shift, most, &parameters[i])) return false;
  }
  return true;
}

// Whether EncodePublication() would write this code for these parameters.
bool IsTheCodeOf(Span<const float> parameters, uint32_t shift, uint8_t coding, ByteSpan code) {
  Sink sink = {nullptr, code.data(), code.size()};
  if (!Code(parameters, shift, &sink)) return false;
  const bool is_range_shorter = sink.size <= 4 * parameters.size();
  if (coding == kRaw) return !is_range_shorter;
  return is_range_shorter && sink.size == code.size() && sink.is_equal;
}

}  // namespace

Status EncodePublication(const PublicationHeader& header, Span<const float> parameters,
                         MutableByteSpan out, size_t* size) {
  if (header.shift > kMaxPublicationShift) return Status::kInvalidArgument;
  if (out.size() < MaxPublicationBytes(parameters.size())) return Status::kBufferTooSmall;
  const size_t limit = 4 * parameters.size();
  Sink sink = {out.data() + kPublicationHeaderSize, nullptr, limit};
  if (!Code(parameters, header.shift, &sink)) return Status::kInvalidArgument;
  const bool is_raw = sink.size > limit;
  if (is_raw) {
    sink.size = 0;
    CodeRaw(parameters, header.shift, &sink);
  }
  StoreHeader(header, is_raw ? kRaw : kRange, out.data());
  *size = kPublicationHeaderSize + sink.size;
  return Status::kOk;
}

Status DecodePublicationHeader(ByteSpan bytes, PublicationHeader* header) {
  if (bytes.size() < kPublicationHeaderSize) return Status::kMalformed;
  const uint8_t* const p = bytes.data();
  if (__builtin_memcmp(p, kMagic, sizeof(kMagic)) != 0) return Status::kMalformed;
  PublicationHeader result;
  __builtin_memcpy(result.job_id, p + 4, kJobIdSize);
  result.version = LoadU32Le(p + 20);
  result.node = LoadU32Le(p + 24);
  __builtin_memcpy(result.parent, p + 28, kSha256Size);
  result.shift = p[60];
  const bool is_known = result.version >= 1 && result.shift <= kMaxPublicationShift &&
                        p[61] <= kRange && p[62] == 0 && p[63] == 0;
  if (!is_known) return Status::kMalformed;
  *header = result;
  return Status::kOk;
}

Status DecodePublication(ByteSpan bytes, float most, PublicationHeader* header,
                         Span<float> parameters) {
  PublicationHeader result;
  if (Status s = DecodePublicationHeader(bytes, &result); s != Status::kOk) return s;
  const ByteSpan code = bytes.subspan(kPublicationHeaderSize);
  const uint8_t coding = bytes[61];
  const auto decode = coding == kRaw ? DecodeRaw : DecodeRange;
  if (!decode(code, result.shift, most, parameters)) return Status::kMalformed;
  if (!IsTheCodeOf(parameters, result.shift, coding, code)) return Status::kMalformed;
  *header = result;
  return Status::kOk;
}

}  // namespace sotto
