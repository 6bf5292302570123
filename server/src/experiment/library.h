// The experiments that are built into the program, and their models. Part of
// sotto::server/experiment.
//
// Reentrant: safe from any thread.
#ifndef SOTTO_EXPERIMENT_LIBRARY_H_
#define SOTTO_EXPERIMENT_LIBRARY_H_

#include <string>
#include <vector>

#include "experiment/definition.h"

namespace sotto::server {

// A file of server/experiments or third_party, as it was when the program was built.
struct BuiltInFile {
  const char* path;  // "dp-fed-ls-table2.toml", "models/softmax-mnist.toml", "uPlot.min.css"
  const char* text;
};

// Sorted by path. The build makes this table (server/embed.cmake).
extern const std::vector<BuiltInFile> kBuiltInFiles;

// The text of a built-in file. Throws std::logic_error if there is none.
std::string BuiltInText(const std::string& path);

// All experiments, by name.
std::vector<Definition> BuiltInExperiments();

// The experiment of this name; a text that ends in .toml is a file. Throws std::invalid_argument
// for another name, with the nearest one, and as ParseDefinition() does.
Definition OpenExperiment(const std::string& name_or_file);

// Writes the models that the definition names into FOLDER/models: those beside its file, else the
// built-in ones. Throws std::invalid_argument for a model that is neither.
void WriteModels(const Definition& definition, const std::string& folder);

}  // namespace sotto::server

#endif  // SOTTO_EXPERIMENT_LIBRARY_H_
