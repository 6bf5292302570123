// The table of all codecs: their names and traits. Part of sotto::server/codec.
//
// Code that depends on a job's codec asks a trait of the codec's row, never its name. To add a
// codec: write a class (update_codec.h), a row of the table in codecs.cc and a test. Another
// program adds rows by AddCodec() (sotto/research/methods.h).
//
// All functions are safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/update_codec.h"
#include "sotto/messages.h"
#include "sotto/research/codec.h"
#include "sotto/update_codec.h"

namespace sotto::server {

struct CodecInfo {
  // The name in options, JSON and the ledger.
  const char* name;

  // One line for people.
  const char* note;

  // Traits.
  // Every update carries noise of the plan's deviation, and rounds are topped up with zero updates.
  bool noise;
  // The plan's epsilon is charged and stated. Without `certified`, it holds for ideal noise only.
  // Implies `noise`.
  bool accounted;
  // A certificate bounds what the implemented noise leaks beyond ideal noise. The job is then
  // private, and the noise covers adaptive clipping's bit and private noise. Implies `accounted`.
  bool certified;
  // Devices implement it. If not, it is a baseline for comparison, in simulations only: the
  // device's clipped update goes through Encode() instead of the device's encoder.
  bool servable;
  // An option may name it. A codec without this trait is only reached through without_noise.
  bool by_name;
  // Under the same keys two updates get the same noise, up to rounding, or none. Trainings that
  // differ in their data alone can then be compared without its noise (audit/twins.h).
  bool same_noise;

  // The codec of a job that asks for this one with an infinite epsilon; null: such a job is
  // refused.
  const char* without_noise;

  // The format of a device's update: the job's coding, padding and length with this dither, or, if
  // not `coded`, exact little-endian float32.
  bool coded;
  DitherKind dither;

  // The codec of one attempt. The task is valid: see JobConfig::Validate().
  std::function<std::unique_ptr<const UpdateCodec>(const TrainTask& task)> make;

  // Of a codec that another program added (AddCodec()): what its author states. Null: a codec of
  // this program. A codec that states no noise has neither `noise` nor `accounted`.
  std::shared_ptr<const OwnCodec> own = nullptr;

  UpdateFormat FormatFor(Coding coding, uint32_t padding, uint32_t length = 0) const {
    if (!coded) return {Coding::kFloat32, DitherKind::kUniform, 0, 0};
    return {coding, dither, padding, length};
  }
};

// All codecs, in the order in which they are listed for people; the first is the default.
Span<const CodecInfo> Codecs();

// The codec of this name; null if there is none.
const CodecInfo* FindCodec(const std::string& name);

// The codec of this name. Throws std::invalid_argument that lists all names if there is none.
const CodecInfo& RequireCodec(const std::string& name);

// The names that an option may give, and the subset of them that devices implement.
std::vector<std::string> CodecNames();
std::vector<std::string> ServableCodecNames();

}  // namespace sotto::server
