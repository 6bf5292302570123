#include "npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string_view>

#include "sotto/options/numbers.h"

namespace sotto {
namespace {

constexpr uint8_t kMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr size_t kMaxHeader = 65536;
constexpr size_t kMaxText = 4096;  // bytes of a text
constexpr uint64_t kMaxElements =
    std::min<uint64_t>(uint64_t{1} << 36, std::numeric_limits<size_t>::max() / 8);
constexpr size_t kAtOnce = 4096;  // elements
constexpr char kHeaderAdvice[] = "write it with numpy.save or numpy.savez";

// The value of a key in the header, a literal of Python: to the comma or bracket that ends it.
std::optional<std::string> ValueOf(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at + key.size() + 2);
  if (colon == std::string::npos) return std::nullopt;
  const size_t begin = header.find_first_not_of(' ', colon + 1);
  if (begin == std::string::npos) return std::nullopt;
  const bool is_tuple = header[begin] == '(';
  const size_t end = header.find_first_of(is_tuple ? ")" : ",}", begin);
  if (end == std::string::npos) return std::nullopt;
  return header.substr(begin, end - begin);
}

// float16: a sign, five bits of exponent, ten of fraction.
double Half(uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15 & 1) != 0 ? -magnitude : magnitude;
}

void AppendUtf8(uint32_t code, std::string* text) {
  const uint32_t lead = code < 0x80 ? 0 : code < 0x800 ? 0xC0 : code < 0x10000 ? 0xE0 : 0xF0;
  const uint32_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  *text += static_cast<char>(lead | (code >> 6 * more & (more == 3 ? 7 : 0x7F)));
  for (uint32_t left = more; left-- > 0;) {
    *text += static_cast<char>(0x80 | (code >> 6 * left & 63));
  }
}

}  // namespace

NpyArray::NpyArray(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
  ReadHeader();
}

void NpyArray::ReadHeader() {
  uint8_t start[8];
  source_->ReadExactly(start, sizeof(start), "the header");
  if (!std::equal(kMagic, kMagic + sizeof(kMagic), start) || start[6] < 1 || start[6] > 3) {
    throw Defect("is no .npy array: it does not begin with \\x93NUMPY and version 1 to 3",
                 kHeaderAdvice);
  }
  uint8_t length[4] = {};
  source_->ReadExactly(length, start[6] == 1 ? 2 : 4, "the header");
  const size_t size = size_t{length[0]} | size_t{length[1]} << 8 | size_t{length[2]} << 16 |
                      size_t{length[3]} << 24;
  if (size > kMaxHeader) throw Defect("its header is too long", kHeaderAdvice);
  std::string header(size, ' ');
  source_->ReadExactly(reinterpret_cast<uint8_t*>(header.data()), size, "the header");
  const auto type = ValueOf(header, "descr");
  const auto order = ValueOf(header, "fortran_order");
  const auto shape = ValueOf(header, "shape");
  if (!type || !order || !shape || (*order != "True" && *order != "False")) {
    throw Defect("its header lacks descr, fortran_order or shape", kHeaderAdvice);
  }
  ReadType(*type);
  ReadShape(*shape);
  is_fortran_ = *order == "True" && shape_.size() > 1;
}

void NpyArray::ReadType(const std::string& type) {
  if (type == "'|O'" || type == "'O'") kind_ = 'O';
  const bool is_quoted = type.size() >= 5 && type.front() == '\'' && type.back() == '\'';
  const auto size = is_quoted ? posix::ParseCount(type.substr(3, type.size() - 4)) : std::nullopt;
  if (size) {
    kind_ = type[2];
    is_big_endian_ = type[1] == '>';
    item_ = static_cast<size_t>(std::min<uint64_t>(*size, kMaxText + 1)) * (kind_ == 'U' ? 4 : 1);
  }
  const bool is_number =
      (kind_ == 'f' && (item_ == 2 || item_ == 4 || item_ == 8)) ||
      ((kind_ == 'i' || kind_ == 'u') && (item_ == 1 || item_ == 2 || item_ == 4 || item_ == 8)) ||
      (kind_ == 'b' && item_ == 1);
  const bool is_short = is_text() && item_ > 0 && item_ <= kMaxText;
  if (is_number || is_short) return;
  const std::string what = fmt::format("the type {} is not read here", type.substr(0, 60));
  if (kind_ == 'O') {
    throw Defect(what,
                 "it holds objects of Python; convert them: labels with y.astype(str), numbers "
                 "with x.astype('float32')");
  }
  throw Defect(what,
               "expected float16 to float64, integers, bool or short texts: "
               "x.astype('float32'), y.astype(str)");
}

// "(60000, 28, 28": the tuple without its end.
void NpyArray::ReadShape(const std::string& text) {
  uint64_t elements = 1;
  for (size_t begin = 1; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string axis = text.substr(begin, end - begin);
    axis.erase(
        std::remove_if(axis.begin(), axis.end(), [](char c) { return c == ' ' || c == 'L'; }),
        axis.end());
    begin = end + 1;
    if (axis.empty()) continue;
    const auto size = posix::ParseCount(axis);
    if (!size || *size == 0 || *size > kMaxElements / elements) {
      throw Defect(
          fmt::format("its shape is {})", text.substr(0, 60)),
          fmt::format("expected axes of at least 1, and at most {} elements", kMaxElements));
    }
    elements *= *size;
    shape_.push_back(static_cast<size_t>(*size));
  }
  if (shape_.empty()) throw Defect("it holds a single number", "expected an array");
  row_size_ = static_cast<size_t>(elements) / shape_[0];
}

void NpyArray::ReadBytes(uint8_t* out, size_t count) {
  source_->ReadExactly(out, count * item_, "the elements that its shape announces");
}

void NpyArray::ReadNumbers(double* out, size_t count) {
  buffer_.resize(std::max(buffer_.size(), std::min(count, kAtOnce) * item_));
  while (count > 0) {
    const size_t now = std::min(count, kAtOnce);
    ReadBytes(buffer_.data(), now);
    for (size_t i = 0; i < now; ++i) *out++ = Number(buffer_.data() + i * item_);
    count -= now;
  }
}

uint64_t NpyArray::Bits(const uint8_t* bytes) const {
  uint64_t bits = 0;
  for (size_t i = 0; i < item_; ++i) {
    bits |= uint64_t{bytes[is_big_endian_ ? item_ - 1 - i : i]} << 8 * i;
  }
  return bits;
}

int64_t NpyArray::Signed(uint64_t bits) const {
  const unsigned unused = static_cast<unsigned>(64 - 8 * item_);
  return static_cast<int64_t>(bits << unused) >> unused;
}

double NpyArray::Number(const uint8_t* bytes) const {
  const uint64_t bits = Bits(bytes);
  if (kind_ == 'f' && item_ == 8) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  if (kind_ == 'f' && item_ == 2) return Half(bits);
  if (kind_ == 'f') {
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof(value));
    return static_cast<double>(value);
  }
  return kind_ == 'i' ? static_cast<double>(Signed(bits)) : static_cast<double>(bits);
}

std::string NpyArray::ReadAsText() {
  if (is_text()) return ReadText();
  if (is_real()) {
    double value = 0;
    ReadNumbers(&value, 1);
    return fmt::format("{}", value);
  }
  buffer_.resize(std::max(buffer_.size(), item_));
  ReadBytes(buffer_.data(), 1);
  const uint64_t bits = Bits(buffer_.data());
  return kind_ == 'i' ? fmt::format("{}", Signed(bits)) : fmt::format("{}", bits);
}

std::string NpyArray::ReadText() {
  buffer_.resize(std::max(buffer_.size(), item_));
  ReadBytes(buffer_.data(), 1);
  std::string text;
  if (kind_ == 'S') {
    text.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(item_));
  } else {
    for (size_t i = 0; i < item_; i += 4) {
      const uint8_t* const b = buffer_.data() + i;
      const uint32_t code =
          is_big_endian_ ? uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3]
                         : uint32_t{b[3]} << 24 | uint32_t{b[2]} << 16 | uint32_t{b[1]} << 8 | b[0];
      AppendUtf8(code, &text);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

void NpyArray::RequireEnd() {
  uint8_t extra;
  if (source_->Read(&extra, 1) == 0) return;
  throw Defect("goes on after the elements that its shape announces", "write it once more");
}

}  // namespace sotto
