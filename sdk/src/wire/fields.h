// The fields of a message, said once for both ways. Part of sotto/wire; private to the SDK.
//
// A function that lists a message's fields takes a Packing, from the SDK's struct to the generated
// one, or an Unpacking, back:
//
//   if (way.Is(wire, sotto_Reply_wait_tag, r, Reply::Kind::kWait)) way(m.wait.wait_ms, r.wait_ms);
#pragma once

#include <type_traits>

#include "wire/nanopb_frame.h"

namespace sotto {

class Packing {
 public:
  // Whether `ours` is of that kind; `wire` then becomes the message with the tag.
  template <class Wire, class Ours, class Kind>
  bool Is(Wire& wire, pb_size_t tag, const Ours& ours, Kind kind) {
    if (ours.kind != kind) return false;
    wire.which_message = tag;
    return true;
  }

  // Of a message within the message: whether it is there.
  void Has(bool& wire, bool ours) { wire = ours; }

  // Enums and numbers.
  template <class Field, class Ours>
  void operator()(Field& wire, const Ours& ours) {
    wire = static_cast<Field>(ours);
  }
  void operator()(sotto_bytes_t& wire, const ByteSpan& ours) { wire = View(ours); }
  void operator()(sotto_bytes_t& wire, const Salt& ours) { wire = View(ours.view()); }
  void operator()(sotto_bytes_t& wire, const ErrorEdges& ours) { wire = View(ours.bytes()); }
  template <size_t size>
  void operator()(sotto_bytes_t& wire, const uint8_t (&ours)[size]) {
    wire = View(ByteSpan(ours));
  }
};

class Unpacking {
 public:
  // Whether `wire` is the message with the tag; `ours` then becomes of that kind.
  template <class Wire, class Ours, class Kind>
  bool Is(const Wire& wire, pb_size_t tag, Ours& ours, Kind kind) {
    if (wire.which_message != tag) return false;
    ours.kind = kind;
    return true;
  }

  // A message that is not there has all fields 0.
  void Has(const bool&, bool) {}

  // An enum that nanopb has stored. nanopb stores any number that arrives, and C++ must not read an
  // enum whose number is outside its range, so this copies the number first. A number that is too
  // large becomes 255, which no enum has.
  template <class Field, class Ours, std::enable_if_t<std::is_enum<Field>::value, int> = 0>
  void operator()(const Field& wire, Ours& ours) {
    std::underlying_type_t<Field> number;
    static_assert(sizeof(number) == sizeof(wire));
    __builtin_memcpy(&number, &wire, sizeof(number));
    ours = static_cast<Ours>(number <= UINT8_MAX ? number : UINT8_MAX);
  }
  template <class Number, std::enable_if_t<!std::is_enum<Number>::value, int> = 0>
  void operator()(const Number& wire, Number& ours) {
    ours = wire;
  }
  void operator()(const uint32_t& wire, ErrorCode& ours) { ours = KnownErrorCode(wire); }
  void operator()(const uint32_t& wire, WaitState& ours) { ours = KnownWaitState(wire); }
  void operator()(const sotto_bytes_t& wire, ByteSpan& ours) { ours = View(wire); }
  void operator()(const sotto_bytes_t& wire, Salt& ours) {
    ours.is_there = wire.size != 0;
    if (ours.is_there) (*this)(wire, ours.bytes);
  }
  void operator()(const sotto_bytes_t& wire, ErrorEdges& ours) { ours = ErrorEdges(View(wire)); }
  template <size_t size>
  void operator()(const sotto_bytes_t& wire, uint8_t (&ours)[size]) {
    if (wire.size != size) return Refuse();
    __builtin_memcpy(ours, wire.data, size);
  }

  void Refuse() { is_valid_ = false; }
  bool is_valid() const { return is_valid_; }  // of all fields until now

 private:
  bool is_valid_ = true;
};

}  // namespace sotto
