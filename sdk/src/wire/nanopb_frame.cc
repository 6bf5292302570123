#include "wire/nanopb_frame.h"

#include <pb_decode.h>
#include <pb_encode.h>

#include "sotto/wire.h"

namespace sotto {
namespace {

// The read function of a stream over the frame. The stream's state is the position, so a byte field
// can read it. All of nanopb's substreams share this state.
bool ReadFrame(pb_istream_t* stream, pb_byte_t* out, size_t count) {
  auto* position = static_cast<const uint8_t**>(stream->state);
  if (out != nullptr) __builtin_memcpy(out, *position, count);
  *position += count;
  return true;
}

}  // namespace

Status EncodeFrame(const pb_msgdesc_t* type, const void* message, uint32_t max_frame,
                   MutableByteSpan out, size_t* size) {
  if (!IsMaxFrame(max_frame)) return Status::kInvalidArgument;
  if (out.size() < kFrameHeaderSize) return Status::kBufferTooSmall;
  const MutableByteSpan space = out.subspan(kFrameHeaderSize);
  pb_ostream_t stream =
      pb_ostream_from_buffer(space.data(), space.size() < max_frame ? space.size() : max_frame);
  if (!pb_encode(&stream, type, message)) return Status::kBufferTooSmall;
  out[0] = static_cast<uint8_t>(stream.bytes_written);
  out[1] = static_cast<uint8_t>(stream.bytes_written >> 8);
  *size = kFrameHeaderSize + stream.bytes_written;
  return Status::kOk;
}

bool DecodeFrame(ByteSpan body, const pb_msgdesc_t* type, void* message) {
  const uint8_t* position = body.data();
  pb_istream_t stream = PB_ISTREAM_EMPTY;
  stream.callback = ReadFrame;
  stream.state = &position;
  stream.bytes_left = body.size();
  return pb_decode(&stream, type, message);
}

}  // namespace sotto

bool sotto_bytes_field(pb_istream_t* in, pb_ostream_t* out, const pb_field_t* field) {
  auto* bytes = static_cast<sotto_bytes_t*>(field->pData);
  if (out != nullptr) {
    return bytes->size == 0 ||
           (pb_encode_tag_for_field(out, field) && pb_encode_string(out, bytes->data, bytes->size));
  }
  // If the field arrived as a number, nanopb passes its own buffer. That is not a byte field.
  if (in->callback != sotto::ReadFrame) return false;
  *bytes = {*static_cast<const uint8_t**>(in->state), in->bytes_left};
  return pb_read(in, nullptr, in->bytes_left);
}
