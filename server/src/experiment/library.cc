#include "experiment/library.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <stdexcept>

#include "base/built_in.h"
#include "sotto/options/nearest.h"
#include "sotto/posix/files.h"
#include "sotto/posix/text.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

bool EndsIn(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsExperiment(const BuiltInFile& file) {
  return EndsIn(file.path, ".toml") && std::string(file.path).find('/') == std::string::npos;
}

void AddModel(const Assignments& options, std::set<std::string>* models) {
  for (const Assignment& option : options) {
    if (option.name == "model" && option.value.rfind(kModelsFolder, 0) == 0) {
      models->insert(option.value);
    }
  }
}

std::set<std::string> ModelsOf(const Definition& definition) {
  std::set<std::string> models;
  AddModel(definition.options, &models);
  AddModel(definition.quick_options, &models);
  for (const OptionRule& rule : definition.rules) AddModel(rule.options, &models);
  for (const DataChoice& choice : definition.choices) AddModel(choice.options, &models);
  for (const Axis& axis : definition.axes) {
    for (const std::string& value : axis.values) AddModel({{axis.name, value}}, &models);
  }
  return models;
}

std::string ModelText(const Definition& definition, const std::string& model) {
  if (!definition.folder.empty()) {
    const auto beside = posix::ReadCleanText((fs::path(definition.folder) / model).string());
    if (beside) return *beside;
  }
  const BuiltInFile* file = FindBuiltIn(model);
  if (file != nullptr) return file->text;
  throw std::invalid_argument(fmt::format(
      "{}: its model {} is neither beside the file nor built in", definition.name, model));
}

}  // namespace

std::vector<Definition> BuiltInExperiments() {
  std::vector<Definition> definitions;
  for (const BuiltInFile& file : kBuiltInFiles) {
    if (!IsExperiment(file)) continue;
    definitions.push_back(ParseDefinition(file.path, file.text));
    definitions.back().folder.clear();
  }
  return definitions;
}

// A built-in experiment's folder is its own.
void RequireOwnName(const std::string& file, const std::string& name) {
  for (const Definition& definition : BuiltInExperiments()) {
    if (definition.name != name) continue;
    throw std::invalid_argument(
        fmt::format("{}: {} is the name of a built-in experiment; choose another", file, name));
  }
}

Definition OpenExperiment(const std::string& name_or_file) {
  if (EndsIn(name_or_file, ".toml")) {
    const auto text = posix::ReadCleanText(name_or_file);
    if (!text) throw std::invalid_argument(name_or_file + ": there is no such file");
    Definition own = ParseDefinition(name_or_file, *text);
    RequireOwnName(name_or_file, own.name);
    return own;
  }
  std::vector<std::string> names;
  for (const Definition& definition : BuiltInExperiments()) {
    if (definition.name == name_or_file) return definition;
    names.push_back(definition.name);
  }
  throw std::invalid_argument(
      fmt::format("there is no experiment '{}'{}; `sotto-lab experiment list` lists them; a file "
                  "of your own ends in .toml",
                  name_or_file, posix::DidYouMean(name_or_file, names)));
}

void WriteModels(const Definition& definition, const std::string& folder) {
  for (const std::string& model : ModelsOf(definition)) {
    const std::string path = (fs::path(folder) / model).string();
    fs::create_directories(fs::path(path).parent_path());
    posix::ReplaceTextFile(path, ModelText(definition, model));
  }
}

}  // namespace sotto::server
