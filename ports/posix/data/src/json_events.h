// JSON as a sequence of events: a large file takes no memory of its size. Part of sotto::data.
//
// Stateless; safe in any thread.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "byte_file.h"

namespace sotto {

// Gets what a JSON text holds, in its order. What it throws ends the parsing.
class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;
  virtual void OnNull() = 0;
  //   text  the number as the file writes it; true and false are 1 and 0
  virtual void OnNumber(double value, std::string_view text) = 0;
  virtual void OnText(std::string_view text) = 0;
  virtual void OnKey(std::string_view key) = 0;
  virtual void OnBegin(bool is_object) = 0;
  virtual void OnEnd(bool is_object) = 0;
};

// What is no JSON, and where it is: both from 1.
class JsonFault : public std::runtime_error {
 public:
  JsonFault(size_t line, size_t column, const std::string& why)
      : std::runtime_error(why), line_(line), column_(column) {}
  size_t line() const { return line_; }
  size_t column() const { return column_; }

 private:
  size_t line_;
  size_t column_;
};

// The most bytes of a text or a number, and the most brackets within brackets.
constexpr size_t kMaxJsonToken = size_t{1} << 24;
constexpr size_t kMaxJsonDepth = 16;

// Parses one JSON value, with nothing but blanks behind it. Throws a JsonFault.
void ParseJson(std::string_view text, JsonVisitor* visitor);
void ParseJson(ByteSource* source, JsonVisitor* visitor);

}  // namespace sotto
