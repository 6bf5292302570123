// What is known of a released model that a device keeps: the file model.release, beside its
// parameters in model.bin. sotto-client writes both, `sotto model` reads them. Part of
// sotto::model_file.
//
//   sotto-release 1
//   sha256 HEX        of all that follows
//   model NAME        of the net
//   digest HEX        of the net
//   job HEX           that has released the model
//   rounds N          that the job had released, this one included
//   final N           1: the job is over
//   check HEX         of the parameters: ModelCheck() (sotto/model_difference.h)
//   fetched N         seconds since 1970, UTC
//   claims TEXT       what is claimed for its privacy, for people
//   threshold NUMBER  the prediction error above which a sample is an anomaly, float32 in decimal;
//                     there is no such line if the release came without one
//
// Stateless; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/client.h"
#include "sotto/crypto.h"
#include "sotto/model_difference.h"
#include "sotto/posix/kept_file.h"

namespace sotto::posix {

inline constexpr KeptFormat kReleaseFormat = {
    "sotto-release", 1, "description of a released model",
    "this is not what --keep-model writes, and would be replaced; name another folder",
    "remove it and the model.bin beside it: the device then fetches the model anew"};

// The names of the two files in a folder.
inline constexpr char kKeptModelFile[] = "model.bin";
inline constexpr char kKeptReleaseFile[] = "model.release";

struct KeptRelease {
  std::string model;
  uint8_t digest[kSha256Size] = {};
  uint8_t job_id[kJobIdSize] = {};
  uint32_t rounds = 0;
  bool is_final = false;
  uint8_t check[kModelCheckSize] = {};
  uint32_t fetched_s = 0;
  std::string claims;      // printable
  float threshold = 0.0f;  // Release::threshold
};

// The body of the file: kept_file.h.
std::string KeptReleaseBody(const KeptRelease& release);

// What a file's text says. Throws a FileError, without the file's name, for one that is damaged or
// of another version, and for any other text.
KeptRelease ParseKeptRelease(std::string_view text);

}  // namespace sotto::posix
