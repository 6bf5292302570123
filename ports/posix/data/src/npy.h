// One array of NumPy's format .npy, read from its beginning to its end. Part of sotto::data.
//
// The format is NumPy's NEP 1, versions 1 to 3. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "byte_file.h"
#include "sotto/span.h"

namespace sotto {

class NpyArray {
 public:
  // Reads the header. Throws a Defect() of the source if it is none, or of a type that is not read
  // here.
  explicit NpyArray(std::unique_ptr<ByteSource> source);

  const std::vector<size_t>& shape() const { return shape_; }  // never empty
  size_t rows() const { return shape_[0]; }
  size_t row_size() const { return row_size_; }  // elements
  bool is_fortran() const { return is_fortran_; }
  bool is_bytes() const { return kind_ == 'u' && item_ == 1; }
  bool is_text() const { return kind_ == 'U' || kind_ == 'S'; }
  bool is_real() const { return kind_ == 'f'; }

  // The next elements in the order of the file.
  void ReadBytes(uint8_t* out, size_t count);
  void ReadNumbers(double* out, size_t count);
  // The next element as a text. An integer keeps all its digits, which a double would not.
  std::string ReadAsText();

  // Throws unless the source ends here.
  void RequireEnd();

  const std::string& name() const { return source_->name(); }

  // "PATH: array x: sample 7: WHAT; ADVICE"
  posix::FileError Defect(const std::string& what, const std::string& advice) const {
    return source_->Defect(what, advice);
  }

 private:
  void ReadHeader();
  void ReadType(const std::string& type);
  void ReadShape(const std::string& text);
  std::string ReadText();
  uint64_t Bits(const uint8_t* bytes) const;
  int64_t Signed(uint64_t bits) const;
  double Number(const uint8_t* bytes) const;

  std::unique_ptr<ByteSource> source_;
  char kind_ = 0;    // 'f', 'i', 'u', 'b', 'U' or 'S'
  size_t item_ = 0;  // bytes of an element
  bool is_big_endian_ = false;
  bool is_fortran_ = false;
  std::vector<size_t> shape_;
  size_t row_size_ = 1;
  std::vector<uint8_t> buffer_;
};

}  // namespace sotto
