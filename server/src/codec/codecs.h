// The codecs, by name, and what is true of each. Part of sotto::server/codec.
//
// Whoever must know which mechanism a job uses asks a trait of its row, never for its name. A codec
// more is a class of its own (update_codec.h), a row of the table in codecs.cc and its test.
#ifndef SOTTO_CODEC_CODECS_H_
#define SOTTO_CODEC_CODECS_H_

#include <memory>
#include <string>
#include <vector>

#include "codec/update_codec.h"
#include "sotto/messages.h"
#include "sotto/update_codec.h"

namespace sotto::server {

struct CodecInfo {
  // As options, JSON and the ledger call it.
  const char* name;

  // One line for people.
  const char* note;

  // Traits.
  // Every update brings noise of the plan's deviation, and rounds are topped up with zero updates.
  bool noise;
  // The plan's epsilon is charged and stated. Without `certified` it holds for ideal noise only.
  // Implies `noise`.
  bool accounted;
  // A certificate bounds what the implemented noise leaks beyond ideal noise: the job is private,
  // and the noise covers adaptive clipping's bit and private noise. Implies `accounted`.
  bool certified;
  // Devices speak it. If not, it is a baseline to compare with, for simulations only: a device
  // hands over exact floats, and Encode() makes the update of them.
  bool servable;
  // An option may name it. The others only take the place of one that may, see without_noise.
  bool by_name;

  // The codec that a job takes which asks for this one and for an infinite epsilon; null: such a
  // job is refused.
  const char* without_noise;

  // How a device hands its update over: in the job's coding and padding, with this dither, or, if
  // not `coded`, as exact little-endian float32.
  bool coded;
  DitherKind dither;

  // The codec of one attempt. The task is valid: see JobConfig::Validate().
  std::unique_ptr<const UpdateCodec> (*make)(const TrainTask& task);

  UpdateFormat FormatFor(Coding coding, uint32_t padding) const {
    if (!coded) return {Coding::kFloat32, DitherKind::kUniform, 0};
    return {coding, dither, padding};
  }
};

// All of them, in the order in which they are listed for people; the first is the default.
Span<const CodecInfo> Codecs();

// Null if there is none of this name.
const CodecInfo* FindCodec(const std::string& name);

// Throws std::invalid_argument, naming those there are, if there is none of this name.
const CodecInfo& RequireCodec(const std::string& name);

// The names that an option may give.
std::vector<std::string> CodecNames();

}  // namespace sotto::server

#endif  // SOTTO_CODEC_CODECS_H_
