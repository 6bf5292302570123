// A byte field of a message as a view: nanopb's generated structs hold it instead of a copy. Part
// of sotto/wire; private to the SDK.
//
// The generated C code includes this header, too.
#pragma once

#include <pb.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const uint8_t* data;
  size_t size;
} sotto_bytes_t;

// nanopb's callback for every byte field. When decoding, it makes the view point into the frame;
// the stream must be the one of nanopb_frame.cc. When encoding, it copies the bytes out. Empty
// means absent.
bool sotto_bytes_field(pb_istream_t* in, pb_ostream_t* out, const pb_field_t* field);

#ifdef __cplusplus
}
#endif
