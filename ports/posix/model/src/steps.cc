#include "steps.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sotto/model/layer_kinds.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/preparation.h"
#include "table.h"

namespace sotto::posix {
namespace {

using nn::PreparationStep;
using nn::Shape;

// "1 number, 3 (one a channel) or 384 (one a feature)"
std::string CountsText(const Shape& shape) {
  std::string text = "one number";
  if (shape.channels > 1 && shape.channels < shape.size()) {
    text += fmt::format(", {}, one a channel,", shape.channels);
  }
  if (shape.size() > 1) text += fmt::format(" or {}, one a feature", shape.size());
  return text;
}

class Reader {
 public:
  Reader(const Beside& beside, const Shape& shape) : beside_(beside), shape_(shape) {}

  void AddMissing(const Table& top) {
    if (!top.Has("missing")) return;
    const Span<const float> values = Keep(top, "missing", Read(top, "missing"));
    Place(nn::internal::FillMissingStep(values));
  }

  void Add(const Table& table) {
    const PreparationKindRow& row =
        KindIn(PreparationKinds(), table, "for example kind = \"normalise\"");
    const Table named = TableOf(row, table, "prepare", ++count_);
    PreparationStep values;
    std::vector<float> settings;
    for (size_t i = 0; i < row.keys.size(); ++i) {
      const PreparationKey& key = row.keys[i];
      if (key.holds == PreparationKey::Holds::kSize) {
        values.size = named.Number(key.name, 1);
      } else if (key.holds == PreparationKey::Holds::kSetting) {
        settings.push_back(ReadSetting(named, key));
      } else {
        (i == 0 ? values.first : values.second) = ReadKey(named, key);
      }
    }
    if (!settings.empty()) values.first = Own(std::move(settings));
    if (row.why_not != nullptr) {
      const std::string why = row.why_not(row.make(values), shape_);
      if (!why.empty()) named.Refuse(why);
    }
    if (row.tables != nullptr) {
      const PreparationStep untabled = row.make(values);
      Count(named, row.keys.front().name, row.table_size(untabled));
      values.second = Own(row.tables(untabled));
    }
    const PreparationStep step = row.make(values);
    RequireFit(named, step);
    Place(step);
  }

  OwnedSteps Finish() { return std::move(owned_); }

 private:
  void Place(const PreparationStep& step) {
    owned_.steps.push_back(nn::PlacedStep(step, shape_));
    shape_ = owned_.steps.back().output;
  }

  // A float32 holds it exactly.
  static float ReadSetting(const Table& table, const PreparationKey& key) {
    constexpr uint32_t kMost = 1 << 20;
    const uint32_t number = table.Number(key.name, key.least);
    if (number > kMost) {
      table.Refuse(key.name, fmt::format("{} = {}; the most is {}", key.name, number, kMost));
    }
    return static_cast<float>(number);
  }

  // Before they are made: a table may be as large as the settings say.
  void Count(const Table& table, const std::string& key, uint64_t numbers) {
    total_ += numbers;
    if (total_ > kMaxTensor) {
      table.Refuse(key, fmt::format("up to here the steps have {} numbers; the most are {}", total_,
                                    kMaxTensor));
    }
  }

  Span<const float> Own(std::vector<float> numbers) {
    owned_.numbers.push_back(std::move(numbers));
    return {owned_.numbers.back().data(), owned_.numbers.back().size()};
  }

  Span<const float> ReadKey(const Table& table, const PreparationKey& key) {
    if (key.fallback != nullptr && !table.Has(key.name)) {
      return Keep(table, key.name, {key.fallback_number});
    }
    const Span<const float> numbers = Keep(table, key.name, Read(table, key.name));
    for (size_t i = 0; key.is_positive && i < numbers.size(); ++i) {
      if (numbers[i] > 0) continue;
      table.Refuse(key.name, fmt::format("{}: number {} is {:g}; expected numbers above 0; give a "
                                         "feature that never changes the deviation 1",
                                         key.name, i + 1, numbers[i]));
    }
    return numbers;
  }

  std::vector<float> Read(const Table& table, const std::string& key) const {
    const std::string expected = CountsText(shape_) + ", or \"FILE\" of float32, little-endian";
    if (!table.IsText(key)) return table.Reals(key, expected);
    const FloatFile file(beside_, table, key, expected);
    const auto count = static_cast<size_t>(file.bytes() / 4);
    if (file.bytes() != uintmax_t{4} * count || !nn::AreNumbersFor(shape_, count)) {
      table.Refuse(key, fmt::format("{} has {} bytes; expected {}, of 4 bytes each", file.path(),
                                    file.bytes(), CountsText(shape_)));
    }
    return file.Read(count);
  }

  Span<const float> Keep(const Table& table, const std::string& key, std::vector<float> numbers) {
    if (!nn::AreNumbersFor(shape_, numbers.size())) {
      table.Refuse(key, fmt::format("{} has {} numbers; samples are {}: expected {}", key,
                                    numbers.size(), ShapeText(shape_), CountsText(shape_)));
    }
    Count(table, key, numbers.size());
    return Own(std::move(numbers));
  }

  void RequireFit(const Table& table, const PreparationStep& step) const {
    if (step.is_random && !nn::IsImage(shape_)) {
      table.Refuse(fmt::format("it takes images, input = [height, width, channels], not {}",
                               ShapeText(shape_)));
    }
    if (!nn::FitsPreparation(step, shape_)) {
      table.Refuse("padding", fmt::format("padding = {} is not less than height and width of {}",
                                          step.size, ShapeText(shape_)));
    }
    const size_t random = nn::CountRandom({owned_.steps.data(), owned_.steps.size()});
    if (step.is_random && random == nn::kMaxRandomSteps) {
      table.Refuse(fmt::format("a model has at most {} random steps", nn::kMaxRandomSteps));
    }
  }

  const Beside& beside_;
  Shape shape_;  // that the next step takes
  OwnedSteps owned_;
  size_t count_ = 0;    // of [[prepare]]
  uint64_t total_ = 0;  // numbers of all steps
};

}  // namespace

OwnedSteps ReadSteps(const Beside& beside, const Table& top, const std::vector<Table>& tables,
                     const Shape& shape) {
  Reader reader(beside, shape);
  reader.AddMissing(top);
  for (const Table& table : tables) reader.Add(table);
  return reader.Finish();
}

}  // namespace sotto::posix
