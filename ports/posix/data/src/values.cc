#include "values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "sotto/model_info.h"
#include "sotto/posix/real_from_chars.h"

namespace sotto {
namespace {

constexpr char kTooLarge[] = "expected a number that float32 can hold";

bool FillsMissing(const ModelInfo& model) {
  return std::any_of(model.preparation.begin(), model.preparation.end(), [](const auto& step) {
    return step.kind == nn::PreparationKind::kFillMissing;
  });
}

bool IsTooLarge(double value) {
  return !(std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max()));
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kNoBreak = "\xC2\xA0";
  for (;;) {
    const size_t before = text.size();
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    text = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
    if (text.substr(0, kNoBreak.size()) == kNoBreak) text.remove_prefix(kNoBreak.size());
    if (text.size() >= kNoBreak.size() && text.substr(text.size() - kNoBreak.size()) == kNoBreak) {
      text.remove_suffix(kNoBreak.size());
    }
    if (text.size() == before) return text;
  }
}

bool IsMissingMark(std::string_view text) {
  for (const char* mark : {"?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan",
                           "NaT", "None", "NULL", "null"}) {
    if (text == mark) return true;
  }
  return false;
}

std::optional<double> RealIn(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const bool is_negative = !text.empty() && text[0] == '-';
  const std::string_view size = text.substr(is_negative ? 1 : 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const char* infinite : {"inf", "Inf", "INF", "infinity", "Infinity"}) {
    if (size == infinite) return is_negative ? -kInfinity : kInfinity;
  }
  if (size.empty() || size.find_first_not_of("0123456789+-.eE") != size.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = posix::RealFromChars(text, &value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // Out of the range of a double: too small, or too large.
  if (size.find("e-") != size.npos || size.find("E-") != size.npos) return 0.0;
  return is_negative ? -kInfinity : kInfinity;
}

double NumberIn(std::string_view text, std::string_view advice) {
  if (text.empty() || IsMissingMark(text)) return std::numeric_limits<double>::quiet_NaN();
  if (const std::optional<double> value = RealIn(text)) return *value;
  if (text.find(',') != text.npos) {
    throw std::invalid_argument("expected a number with a decimal point");
  }
  throw std::invalid_argument(
      fmt::format("expected a number{}{}", advice.empty() ? "" : "; ", advice));
}

float FeatureOf(const ReadRequest& request, double value) {
  if (std::isnan(value)) {
    if (request.model == nullptr || FillsMissing(*request.model)) return static_cast<float>(value);
    throw std::invalid_argument(
        "the value is missing, and the model does not say what stands for it: missing = NUMBER in "
        "its file; or fill it in, or leave the row out");
  }
  if (IsTooLarge(value)) throw std::invalid_argument(kTooLarge);
  const uint32_t tokens = request.tokens();
  if (tokens > 0 && !(value >= 0 && value < tokens && value == std::floor(value))) {
    throw std::invalid_argument("expected a token of the model: a whole number below its tokens");
  }
  return static_cast<float>(value);
}

float TargetOf(double value) {
  if (std::isnan(value)) throw std::invalid_argument("the target is missing; remove the row");
  if (IsTooLarge(value)) throw std::invalid_argument(kTooLarge);
  return static_cast<float>(value);
}

}  // namespace sotto
