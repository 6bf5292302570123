// The newest released model, in the folder of --keep-model. Part of ports/posix/client.
//
//   model.bin      its parameters, float32, little endian, as `sotto serve --model-out` writes them
//   model.release  what it is: sotto/model/kept_release.h
//
// Each file is replaced as a whole, model.release first. If the process ends between the two, or
// somebody changes model.bin, the check tells: the device then fetches the model anew.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/client.h"
#include "sotto/crypto.h"
#include "sotto/model/kept_release.h"
#include "sotto/model_info.h"

namespace sotto::posix {

// Reads a model.release, or nothing if there is none. Throws a FileError for one that is damaged or
// of another version, and for any other file; and where ReadKeptText() does.
std::optional<KeptRelease> ReadKeptRelease(const std::string& path);

class ModelKeeper {
 public:
  // Reads what the folder holds.
  //   folder  exists; empty: nothing is kept
  // Throws where ReadKeptRelease() does, and a FileError if there is a model.bin without a
  // model.release: it may be another program's.
  explicit ModelKeeper(const std::string& folder);

  bool is_on() const { return !folder_.empty(); }

  // The model of this net in the folder, [model.parameters]; empty: there is none.
  Span<const float> Held(const ModelInfo& model) const;

  // Keeps a model, unless the folder holds it and says the same of it. Throws where
  // ReplaceTextFile() does. Returns whether it has written.
  bool Keep(const ModelInfo& model, const Release& release, Span<const float> parameters);

  // What is wrong with model.bin, for people; empty: nothing.
  const std::string& damage() const { return damage_; }

  // The files of a folder.
  static std::string ModelPath(const std::string& folder) { return folder + "/" + kKeptModelFile; }
  static std::string ReleasePath(const std::string& folder) {
    return folder + "/" + kKeptReleaseFile;
  }

 private:
  void Load();

  const std::string folder_;
  std::optional<KeptRelease> kept_;
  std::vector<float> parameters_;  // empty: there are none, or they are not what kept_ describes
  std::string damage_;
};

}  // namespace sotto::posix
