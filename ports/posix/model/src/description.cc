#include "description.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "sotto/model/layer_kinds.h"

namespace sotto::posix {
namespace {

constexpr size_t kMaxKindLength = 200;

bool IsPrintable(const std::string& text, size_t most) {
  return !text.empty() && text.size() <= most && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
  });
}

bool HasBlanksAround(const std::string& name) { return name.front() == ' ' || name.back() == ' '; }

class DescriptionReader {
 public:
  DescriptionReader(const Table& top, const ModelInfo& info)
      : top_(top), shape_(info.SampleShape()), info_(info) {}

  std::vector<std::string> Classes() const {
    if (!top_.Has("classes")) return {};
    std::vector<std::string> names =
        Names("classes", "[\"rest\", \"walk\"], a name for each class");
    if (info_.classes == 0) top_.Refuse("classes", "the target is no class; leave the key out");
    if (names.size() != info_.classes) {
      top_.Refuse("classes", fmt::format("{} names, but the model tells {} classes apart",
                                         names.size(), info_.classes));
    }
    RequireDistinct("classes", names);
    return names;
  }

  std::vector<std::string> Features() const {
    if (!top_.Has("features")) return {};
    RequireNumbers("features");
    std::vector<std::string> names = Names("features", "[\"x\", \"y\", \"z\"], names of features");
    if (names.size() != shape_.size() && names.size() != shape_.channels) {
      top_.Refuse("features", fmt::format("features: {} names; samples are {}: expected {}",
                                          names.size(), ShapeText(shape_), CountsText()));
    }
    for (const std::string& name : names) {
      if (!HasBlanksAround(name)) continue;
      top_.Refuse("features", fmt::format("\"{}\" has a blank before or behind it, which no column "
                                          "has; take it out",
                                          name));
    }
    RequireDistinct("features", names);
    return names;
  }

  //   features  how many names they have
  std::vector<std::string> Units(size_t features) const {
    if (!top_.Has("units")) return {};
    RequireNumbers("units");
    std::vector<std::string> units = Names("units", "[\"m/s2\"], a unit for all, or one for each");
    const size_t count = units.size();
    const bool fits =
        count == 1 ||
        (features > 0 ? count == features : count == shape_.size() || count == shape_.channels);
    if (fits) return units;
    top_.Refuse("units",
                features > 0
                    ? fmt::format("units: {} units; expected one for all, or {}, one for each of "
                                  "features",
                                  count, features)
                    : fmt::format("units: {} units; samples are {}: expected one for all, {}",
                                  count, ShapeText(shape_), CountsText()));
  }

  std::string Kind() const {
    if (!top_.Has("samples")) return "";
    std::string kind = top_.Text("samples", "samples = \"acceleration of a wrist, 2.56 s\"");
    if (IsPrintable(kind, kMaxKindLength)) return kind;
    top_.Refuse("samples",
                fmt::format("a kind has 1 to {} bytes and no control character", kMaxKindLength));
  }

 private:
  // Printable. TOML is UTF-8, and so are JSON and SVG.
  std::vector<std::string> Names(const std::string& key, const std::string& expected) const {
    std::vector<std::string> names = top_.Texts(key, expected);
    for (const std::string& name : names) {
      if (IsPrintable(name, kMaxNameLength)) continue;
      top_.Refuse(key,
                  fmt::format("a name has 1 to {} bytes and no control character", kMaxNameLength));
    }
    return names;
  }

  void RequireDistinct(const std::string& key, const std::vector<std::string>& names) const {
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second) top_.Refuse(key, fmt::format("\"{}\" comes twice", name));
    }
  }

  void RequireNumbers(const std::string& key) const {
    if (info_.layers[0].tokens > 0) top_.Refuse(key, "tokens are ids; leave the key out");
  }

  // "3, one a channel, or 384, one a feature"
  std::string CountsText() const {
    const std::string all = fmt::format("{}, one a feature", shape_.size());
    if (shape_.channels == shape_.size()) return all;
    return fmt::format("{}, one for each of the last axis, or {}", shape_.channels, all);
  }

  const Table& top_;
  const nn::Shape shape_;
  const ModelInfo& info_;
};

}  // namespace

Span<const char* const> OwnedTexts::texts() {
  pointers.clear();
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return {pointers.data(), pointers.size()};
}

void ReadDescription(const Table& top, OwnedDescription* description, ModelInfo* info) {
  const DescriptionReader reader(top, *info);
  description->classes.names = reader.Classes();
  description->features.names = reader.Features();
  description->units.names = reader.Units(description->features.names.size());
  description->kind = reader.Kind();
  info->class_names = description->classes.texts();
  info->feature_names = description->features.texts();
  info->feature_units = description->units.texts();
  if (!description->kind.empty()) info->sample_kind = description->kind.c_str();
}

}  // namespace sotto::posix
