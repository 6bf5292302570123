// Personal layers: the last layers of a net, which stay on their device. Part of sotto/nn.
//
//   using Net = nn::Sequential<nn::Input<28, 28, 1>, nn::Conv2d<6, 5, 1, 2>, nn::Relu,
//                              nn::MaxPool2d<2>, nn::Personal<nn::Dense<1176, 10>>>;
//   PagedStore pages(memory);                // PageMemory::first is StoreSlot::kPersonal
//   const PersistentStore store = pages.store();
//   config.store = &store;                   // of a Client, or of a LocalRound's device
//
// A device trains them together with the shared layers, which are all other trained layers. A
// personal layer is never sent and gets no noise; the server's model does not have it.
//   start   InitialPersonal(): the same on all devices, drawn under a public key
//   rounds  a training starts from the record in the device's store. If it succeeds, it replaces
//           the record before a byte of the update can be read (local_round.h). The record outlives
//           jobs: another job of the same net goes on with it
//   shared  projections, the update's clip and the pull to the round's model act on the shared
//           layers only; the step, momentum, weight decay and gradient clips act on all layers
//
// Privacy. An update has one coordinate for each shared parameter. A personal value acts on it only
// as the samples do: through the gradients of the shared layers, within the bound of the update. So
// the sensitivity is the same as for a net with only the shared parameters. But the values remember
// in which rounds the device took part. server/PRIVACY.md, "Personal layers", says whether an
// epsilon that rests on a secret draw holds.
//
// The record, little endian:
//   bytes 0..3    "SoPl"
//   bytes 4..7    version: 1. A new layout takes the next number
//   bytes 8..11   number of values
//   bytes 12..43  the model's digest (model_info.h), which covers which layers are personal
//   from 44 on    the values, float32
//   then          the first 16 bytes of SHA-256 of all before them
//
// Power cuts. A store replaces a record as a whole (persistent_store.h): after a reset at any
// moment the device has the old values or the new ones. A record of another model, or a damaged
// one, is not used: the device starts over from InitialPersonal(), and the next training replaces
// it. A store that cannot read its memory, or finds an emptied file there, fails the round instead.
//
// Only nets with personal layers link these functions. They are pure except for the store; one
// thread at a time for each store.
#pragma once

#include <cstddef>

#include "sotto/model_info.h"
#include "sotto/persistent_store.h"

namespace sotto {

// What LocalRound does for personal layers: ModelInfo::personal_functions.
struct PersonalFunctions {
  // Before a training: puts the device's values behind the shared parameters.
  //   working  [model.trained()] its working memory
  // Returns kOk, kInvalidArgument for another size or a store without functions, or as
  // LoadPersonal().
  Status (*begin)(const ModelInfo& model, const PersistentStore& store,
                  Span<float> working) = nullptr;
  // After a training that has ended well: keeps the values.
  //   kept  what KeepPersonal() returns
  // Returns kOk, or kNotFinite for a value that is not finite: nothing is kept, and the training
  // has failed.
  Status (*end)(const ModelInfo& model, const PersistentStore& store, Span<const float> working,
                Status* kept) = nullptr;
};

// Bytes of the record, for a page of flash or an EEPROM.
constexpr size_t PersonalRecordBytes(size_t values) { return 60 + sizeof(float) * values; }

// The values that a device without a record starts from: drawn as by InitialWeights(), with the
// model's digest as the key.
//   values  [model.personal]
// Returns kOk or kCryptoFailed.
Status InitialPersonal(const ModelInfo& model, Span<float> values);

// The values of the record, or InitialPersonal().
//   values   [model.personal]
//   is_kept  they are a record's
// Returns kOk; kInvalidArgument for another number of values; kStoreFailed if the store cannot be
// read, kCryptoFailed (values unspecified).
Status LoadPersonal(const ModelInfo& model, const PersistentStore& store, Span<float> values,
                    bool* is_kept);

// Replaces the record.
//   values  [model.personal] finite
// Returns kOk, kInvalidArgument for another number of values, kStoreFailed or kCryptoFailed: the
// record is then the old one or the new one.
Status KeepPersonal(const ModelInfo& model, const PersistentStore& store, Span<const float> values);

}  // namespace sotto
