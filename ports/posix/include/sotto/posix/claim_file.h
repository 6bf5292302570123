// A file by which processes share pieces of work: each piece has a number, and one process at a
// time has it. Part of sotto/posix.
//
// A claim is a lock of the kernel on one byte of the file, at the place of the number. It ends with
// the process, however that ends, so a killed process leaves no claim; the file stays, and is
// empty. Processes on several machines share work if their file system shares locks, as NFS 4 does.
//
// Thread-safe. Two ClaimFiles of one process exclude each other as two processes do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sotto::posix {

// A piece of work that is ours until the claim is destroyed, which must be before its ClaimFile.
class Claim {
 public:
  Claim(int descriptor, uint64_t number) : descriptor_(descriptor), number_(number) {}
  ~Claim();
  Claim(Claim&& other) noexcept : descriptor_(other.descriptor_), number_(other.number_) {
    other.descriptor_ = -1;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  Claim& operator=(Claim&&) = delete;

 private:
  int descriptor_;
  uint64_t number_;
};

class ClaimFile {
 public:
  // Creates the file if there is none. Throws std::runtime_error that names the file and the remedy
  // if it cannot be written.
  explicit ClaimFile(std::string path);
  ~ClaimFile();

  // Absent: another one has it. Two claims of one ClaimFile on one number do not exclude each
  // other. Throws std::runtime_error where the file system has no locks.
  //   number  below 2^62
  std::optional<Claim> Try(uint64_t number);
  // Waits until nobody else has it.
  Claim Wait(uint64_t number);

  ClaimFile(const ClaimFile&) = delete;
  ClaimFile& operator=(const ClaimFile&) = delete;

 private:
  const std::string path_;
  int descriptor_ = -1;
};

}  // namespace sotto::posix
