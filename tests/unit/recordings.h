// Recordings for tests.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <string>
#include <vector>

namespace sotto {

// Writes 16-bit values, frame by frame.
inline void WriteRecording(const std::string& path, const std::vector<int16_t>& values,
                           int rate = 8000, int channels = 1,
                           int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16) {
  SF_INFO info{};
  info.samplerate = rate;
  info.channels = channels;
  info.format = format;
  SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
  const auto count = static_cast<sf_count_t>(values.size());
  EXPECT_EQ(sf_write_short(file, values.data(), count), count);
  EXPECT_EQ(sf_close(file), 0);
}

}  // namespace sotto
