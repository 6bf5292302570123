#include "kept_model.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <iterator>

#include "model_bytes.h"
#include "sotto/posix/check.h"
#include "sotto/posix/files.h"
#include "sotto/posix/kept_file.h"
#include "sotto/posix/terminal.h"

namespace sotto::posix {
namespace {

constexpr size_t kMostModel = size_t{1} << 30;  // bytes

bool IsSame(ByteSpan a, ByteSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void DigestOf(const ModelInfo& model, uint8_t (&digest)[kSha256Size]) {
  Check(ModelDigest(model, digest), "the model's digest");
}

void CheckOf(Span<const float> parameters, uint8_t (&check)[kModelCheckSize]) {
  Check(ModelCheck(parameters, check), "the model's check");
}

KeptRelease Describe(const ModelInfo& model, const Release& release, Span<const float> parameters) {
  KeptRelease kept;
  kept.model = model.name;
  DigestOf(model, kept.digest);
  std::copy_n(release.job_id, kJobIdSize, kept.job_id);
  kept.rounds = release.rounds;
  kept.is_final = release.is_final;
  CheckOf(parameters, kept.check);
  kept.fetched_s = static_cast<uint32_t>(std::time(nullptr));
  const std::string claims(release.claims.begin(), release.claims.end());
  kept.claims = claims.empty() ? "none" : Printable(claims);
  kept.threshold = release.threshold;
  return kept;
}

bool SaysTheSame(const KeptRelease& a, const KeptRelease& b) {
  return IsSame(a.digest, b.digest) && IsSame(a.job_id, b.job_id) && a.rounds == b.rounds &&
         a.is_final == b.is_final && IsSame(a.check, b.check) && a.claims == b.claims &&
         a.threshold == b.threshold;
}

}  // namespace

std::optional<KeptRelease> ReadKeptRelease(const std::string& path) {
  const std::optional<SecretText> file = ReadKeptText(kReleaseFormat, path);
  if (!file) return std::nullopt;
  try {
    return ParseKeptRelease(file->text);
  } catch (const FileError& error) {
    throw FileError(path + ": " + error.what());
  }
}

ModelKeeper::ModelKeeper(const std::string& folder) : folder_(folder) {
  if (is_on()) Load();
}

void ModelKeeper::Load() {
  const std::string path = ModelPath(folder_);
  kept_ = ReadKeptRelease(ReleasePath(folder_));
  const std::optional<std::string> bytes = ReadTextFile(path, kMostModel);
  if (!kept_ && bytes) {
    throw FileError(path +
                    ": --keep-model would replace it, and no model.release is beside it "
                    "that says what it is; name another folder, or remove the file");
  }
  if (!kept_) return;
  uint8_t check[kModelCheckSize] = {};
  std::vector<float> floats = ModelInBytes(bytes.value_or(""));
  CheckOf({floats.data(), floats.size()}, check);
  const bool is_whole = bytes && bytes->size() == 4 * floats.size();
  if (is_whole && IsSame(check, kept_->check)) {
    parameters_ = std::move(floats);
    return;
  }
  damage_ =
      path + (bytes ? ": it is not the model that model.release describes" : ": it is missing");
  kept_.reset();
}

Span<const float> ModelKeeper::Held(const ModelInfo& model) const {
  if (!kept_ || parameters_.size() != model.parameters) return {};
  uint8_t digest[kSha256Size] = {};
  DigestOf(model, digest);
  const bool is_of_model = IsSame(digest, kept_->digest);
  return is_of_model ? Span<const float>(parameters_.data(), parameters_.size())
                     : Span<const float>();
}

bool ModelKeeper::Keep(const ModelInfo& model, const Release& release,
                       Span<const float> parameters) {
  const KeptRelease next = Describe(model, release, parameters);
  if (kept_ && SaysTheSame(*kept_, next)) return false;
  const bool is_new = !kept_ || !IsSame(kept_->check, next.check);
  WriteKeptFile(kReleaseFormat, ReleasePath(folder_), KeptReleaseBody(next));
  if (is_new) ReplaceTextFile(ModelPath(folder_), ModelBytes(parameters));
  parameters_.assign(parameters.begin(), parameters.end());
  kept_ = next;
  damage_.clear();
  return true;
}

}  // namespace sotto::posix
