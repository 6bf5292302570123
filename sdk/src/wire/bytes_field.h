// A byte field of a message as a view: what nanopb's generated structs hold instead of a copy.
//
// Read by the generated C code as well. Part of sotto/wire; internal.
#ifndef SOTTO_WIRE_BYTES_FIELD_H_
#define SOTTO_WIRE_BYTES_FIELD_H_

#include <pb.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const uint8_t* data;
  size_t size;
} sotto_bytes_t;

// nanopb's callback for every such field. Reading, it makes the view point into the frame, which
// must come from the stream of wire.cc; writing, it copies the bytes out. Empty means absent.
bool sotto_bytes_field(pb_istream_t* in, pb_ostream_t* out, const pb_field_t* field);

#ifdef __cplusplus
}
#endif

#endif  // SOTTO_WIRE_BYTES_FIELD_H_
