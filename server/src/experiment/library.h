// The experiments that are built into the program, and their models. Part of
// sotto::server/experiment.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/definition.h"

namespace sotto::server {

// How the settings of a definition name its own models.
constexpr char kModelsFolder[] = "models/";

// All experiments, by name.
std::vector<Definition> BuiltInExperiments();

// The experiment of this name; a text that ends in .toml is a file. Throws std::invalid_argument
// for another name, with the nearest one, and as ParseDefinition() does.
Definition OpenExperiment(const std::string& name_or_file);

// Writes the models that the definition names into FOLDER/models: those beside its file, else the
// built-in ones. Throws std::invalid_argument for a model that is neither.
void WriteModels(const Definition& definition, const std::string& folder);

}  // namespace sotto::server
