#include "json_events.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto {
namespace {

using Json = nlohmann::json;

// The bytes of a text, or a file's, some at a time.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : next_(text.data()), end_(text.data() + text.size()) {}
  explicit Bytes(ByteSource* source) : source_(source), buffer_(kBufferBytes) {}

  bool at_end() { return next_ == end_ && !Fill(); }
  char current() const { return *next_; }
  void Advance() {
    line_ += *next_ == '\n' ? 1 : 0;
    ++next_;
    if (++in_token_ > kMaxJsonToken) {
      throw JsonFault(line_, 1, fmt::format("a text has more than {} MB", kMaxJsonToken >> 20));
    }
  }
  void BeginToken() { in_token_ = 0; }
  size_t line() const { return line_; }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 16;

  bool Fill() {
    if (source_ == nullptr) return false;
    const size_t count = source_->Read(reinterpret_cast<uint8_t*>(buffer_.data()), buffer_.size());
    next_ = buffer_.data();
    end_ = next_ + count;
    return count > 0;
  }

  ByteSource* source_ = nullptr;
  std::vector<char> buffer_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  size_t in_token_ = 0;
  size_t line_ = 1;
};

// What the parser goes through. Null: the end.
class Place {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit Place(Bytes* bytes = nullptr) : bytes_(bytes) {}
  char operator*() const { return bytes_->current(); }
  Place& operator++() {
    bytes_->Advance();
    return *this;
  }
  void operator++(int) { bytes_->Advance(); }
  friend bool operator==(const Place& a, const Place& b) { return a.is_end() == b.is_end(); }
  friend bool operator!=(const Place& a, const Place& b) { return !(a == b); }

 private:
  bool is_end() const { return bytes_ == nullptr || bytes_->at_end(); }

  Bytes* bytes_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 5: WHY"
JsonFault FaultOf(const std::string& what, size_t line) {
  constexpr size_t kShown = 200;
  const size_t place = what.find("parse error at line ");
  unsigned long at_line = line;  // NOLINT(google-runtime-int): sscanf's
  unsigned long column = 1;      // NOLINT(google-runtime-int)
  size_t begin = what.find("] ");
  begin = begin == what.npos ? 0 : begin + 2;
  if (place != what.npos && std::sscanf(what.c_str() + place, "parse error at line %lu, column %lu",
                                        &at_line, &column) == 2) {
    begin = what.find(": ", place) + 2;
  }
  return JsonFault(at_line, column, what.substr(begin, kShown));
}

// nlohmann's events become the visitor's.
class Events : public nlohmann::json_sax<Json> {
 public:
  Events(Bytes* bytes, JsonVisitor* visitor) : bytes_(bytes), visitor_(visitor) {}

  bool null() override {
    return Told([&] { visitor_->OnNull(); });
  }
  bool boolean(bool value) override {
    return Told([&] { visitor_->OnNumber(value ? 1 : 0, value ? "1" : "0"); });
  }
  bool number_integer(number_integer_t value) override { return Integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return Integer(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    return Told([&] { visitor_->OnNumber(value, text); });
  }
  bool string(string_t& text) override {
    return Told([&] { visitor_->OnText(text); });
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& key) override {
    return Told([&] { visitor_->OnKey(key); });
  }
  bool start_object(size_t) override { return Begin(true); }
  bool end_object() override { return End(true); }
  bool start_array(size_t) override { return Begin(false); }
  bool end_array() override { return End(false); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw FaultOf(error.what(), bytes_->line());
  }

 private:
  template <class Tell>
  bool Told(Tell tell) {
    bytes_->BeginToken();
    tell();
    return true;
  }
  template <class Number>
  bool Integer(Number value) {
    const fmt::format_int text(value);
    return Told([&] {
      visitor_->OnNumber(static_cast<double>(value), std::string_view(text.data(), text.size()));
    });
  }
  bool Begin(bool is_object) {
    if (++depth_ > kMaxJsonDepth) {
      throw JsonFault(bytes_->line(), 1,
                      fmt::format("more than {} brackets within brackets", kMaxJsonDepth));
    }
    return Told([&] { visitor_->OnBegin(is_object); });
  }
  bool End(bool is_object) {
    --depth_;
    return Told([&] { visitor_->OnEnd(is_object); });
  }

  Bytes* bytes_;
  JsonVisitor* visitor_;
  size_t depth_ = 0;
};

void Parse(Bytes bytes, JsonVisitor* visitor) {
  Events events(&bytes, visitor);
  Json::sax_parse(Place(&bytes), Place(), &events);
}

}  // namespace

void ParseJson(std::string_view text, JsonVisitor* visitor) { Parse(Bytes(text), visitor); }

void ParseJson(ByteSource* source, JsonVisitor* visitor) { Parse(Bytes(source), visitor); }

}  // namespace sotto
