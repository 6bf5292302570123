// The model of the server's job, as the server describes it, and whether the device's owner lets
// the device take it. Part of ports/posix/client.
//
// A description is the word of the server: its size is bounded before it is in memory, it is read
// strictly (sotto/model/model_bundle.h), and nothing of it is written to a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "options.h"
#include "sotto/messages.h"
#include "sotto/model/model_file.h"

namespace sotto::posix {

// A description on its way. One thread at a time.
class Download {
 public:
  //   most  the most bytes of a description
  explicit Download(size_t most) : most_(most) {}

  // Asks for the next part; call it until is_whole().
  Request NextRequest() const;
  // Takes the answer. Returns false if the description is not available; why() says why, for
  // people.
  bool Take(const Reply& reply);

  bool is_whole() const { return size_ != 0 && bytes_.size() == size_; }
  ByteSpan bytes() const { return {bytes_.data(), bytes_.size()}; }
  uint32_t size() const { return size_; }  // of the whole; 0 before the first answer
  const std::string& why() const { return why_; }

 private:
  bool Refuse(std::string why);

  const size_t most_;
  uint32_t size_ = 0;
  std::vector<uint8_t> bytes_;
  std::string why_;
};

// What a description says, and what follows from it for this device.
struct JobModel {
  SharedModel model;    // null: the device does not take it
  std::string reason;   // then why, and what to do, for the device's owner
  std::string differs;  // and for the server's operator; nothing of the device's data is in it
};

// Judges a whole description by --accept-model and --model-memory.
//   own  the device's model; null: it has none
//   name  what the server calls its model
JobModel Judge(const ClientOptions& options, const ModelInfo* own, const std::string& name,
               ByteSpan description);

// Why a device of model `own` takes no part in a job of another model, which the server calls
// `name`, and what to do about it.
std::string WhyMismatch(const std::string& name, const ModelInfo* own);

// The most bytes of a description that the device downloads.
size_t MostDescriptionBytes(const ClientOptions& options);

}  // namespace sotto::posix
