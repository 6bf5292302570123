#include "sotto/model/kept_release.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <vector>

#include "sotto/num.h"
#include "sotto/options/kept_lines.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

// Nine digits give the same float32 back.
std::string ThresholdText(float threshold) { return fmt::format("{:.9g}", threshold); }

template <size_t size>
void TakeBytes(KeptLines& lines, const std::string& name, uint8_t (&out)[size]) {
  const std::vector<uint8_t> bytes = lines.Bytes(name, size, size);
  std::copy(bytes.begin(), bytes.end(), std::begin(out));
}

float TakeThreshold(KeptLines& lines) {
  const std::string_view text = lines.Value("threshold");
  const std::optional<double> number = ParseReal(text);
  const auto threshold = static_cast<float>(number.value_or(0.0));
  if (!IsPositiveNormal(threshold) || ThresholdText(threshold) != text) lines.Refuse("threshold");
  return threshold;
}

}  // namespace

std::string KeptReleaseBody(const KeptRelease& r) {
  const std::string body = fmt::format(
      "model {}\ndigest {}\njob {}\nrounds {}\nfinal {}\ncheck {}\nfetched {}\nclaims {}\n",
      r.model, Hex(r.digest), Hex(r.job_id), r.rounds, r.is_final ? 1 : 0, Hex(r.check),
      r.fetched_s, r.claims);
  if (r.threshold == 0.0f) return body;
  return body + fmt::format("threshold {}\n", ThresholdText(r.threshold));
}

KeptRelease ParseKeptRelease(std::string_view text) {
  KeptLines lines(kReleaseFormat, KeptBody(kReleaseFormat, text));
  KeptRelease release;
  release.model = lines.Value("model");
  TakeBytes(lines, "digest", release.digest);
  TakeBytes(lines, "job", release.job_id);
  release.rounds = lines.Number("rounds");
  const uint32_t final = lines.Number("final");
  if (release.rounds == 0) lines.Refuse("rounds");
  if (final > 1) lines.Refuse("final");
  release.is_final = final == 1;
  TakeBytes(lines, "check", release.check);
  release.fetched_s = lines.Number("fetched");
  release.claims = lines.Value("claims");
  if (!lines.is_at_end()) release.threshold = TakeThreshold(lines);
  if (!lines.is_at_end()) lines.Refuse("threshold");
  return release;
}

}  // namespace sotto::posix
