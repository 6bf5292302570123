#include "experiment/cost.h"

#include <cmath>
#include <fmt/format.h>

#include "base/built_in.h"
#include "experiment/grid.h"
#include "experiment/library.h"
#include "experiment/run_kinds.h"
#include "experiment/runner.h"
#include "sotto/model/model_file.h"

namespace sotto::server {
namespace {

constexpr double kMultiplyAccumulatesASecond = 6e9;

// The samples as the definition names them, wherever they are.
ChosenData PaperData(const Definition& definition) {
  ChosenData data;
  if (definition.choices.empty()) return data;
  const DataChoice& choice = definition.choices.front();
  for (const Assignment& option : choice.options) data.settings[option.name] = option.value;
  return data;
}

// Takes the model out of the settings: an experiment's own one is no file yet. Null: the settings
// name none.
posix::SharedModel TakeModel(Settings* settings) {
  const auto found = settings->find("model");
  if (found == settings->end()) return nullptr;
  const std::string model = found->second;
  settings->erase(found);
  const bool is_own = model.rfind(kModelsFolder, 0) == 0;
  return is_own ? posix::ParseModel(model, BuiltInText(model)) : posix::OpenModel(model);
}

}  // namespace

double MultiplyAccumulatesOf(const Definition& definition) {
  const RunKind& kind = FindRunKind(definition.kind);
  double sum = 0;
  for (const Cell& cell : MakeCells(definition, {}, PaperData(definition))) {
    Settings settings = SettingsOfRun(cell, 1);
    const posix::SharedModel model = TakeModel(&settings);
    const double work = kind.work(settings, model.get());
    if (work < 0) return work;
    sum += work * static_cast<double>(definition.seeds);
  }
  return sum;
}

double CoreHoursOf(double multiply_accumulates) {
  return multiply_accumulates / kMultiplyAccumulatesASecond / 3600;
}

std::string CoreHoursText(double hours) {
  if (hours < 0.0095) return "seconds";
  if (hours < 0.095) return fmt::format("{:.2f}", hours);
  if (hours < 9.95) return fmt::format("{:.1f}", hours);
  const double unit = std::pow(10, std::floor(std::log10(hours)) - 1);
  return fmt::format("{:.0f}", std::round(hours / unit) * unit);
}

}  // namespace sotto::server
