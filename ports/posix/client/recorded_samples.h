// The samples of --sample-log, as a model's rounds take them. Part of ports/posix/client.
//
// The file is read anew when a round begins: another process may record into it all the time
// (record.h). It is copied into memory, so what is recorded later is for the next round.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sample_file.h"
#include "sotto/model_info.h"
#include "sotto/sample_log.h"

namespace sotto::posix {

// Which windows are held out of a log: of each 8 / share windows a run of the last ones, at least
// 8; more if the windows overlap so much that nothing would be left to train on.
//   share  [0, 0.9]
HeldOutRule RuleOf(const SampleFileInfo& info, double share);

class RecordedSamples {
 public:
  // Reads the file.
  //   held_out  share of the samples, [0, 0.9]; see RuleOf()
  //   model     outlives the object
  // Throws as SampleFileCopy() does, and std::invalid_argument if the model takes other samples.
  RecordedSamples(std::string path, double held_out, const ModelInfo& model);
  ~RecordedSamples();
  RecordedSamples(const RecordedSamples&) = delete;
  RecordedSamples& operator=(const RecordedSamples&) = delete;

  // LocalRound reads the file by them. If it cannot be read, the round has no samples.
  SampleSource source();
  SampleSource held_out_source();

  // As of the last reading.
  uint32_t training() const;
  uint32_t held_out() const;
  // Why the file could not be read; empty: it was.
  const std::string& why_unread() const { return why_unread_; }
  // For the device's owner: how many samples each class has, which classes have none, and how many
  // samples have no label. No lines for a model that looks at no labels.
  std::vector<std::string> Describe();

 private:
  struct Reading;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadHeldOut(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static uint32_t Begin(void* context);
  static uint32_t HeldOutCount(void* context);

  const std::string path_;
  const double share_;
  const ModelInfo& model_;
  std::unique_ptr<Reading> reading_;  // null: the file could not be read
  std::string why_unread_;
};

}  // namespace sotto::posix
