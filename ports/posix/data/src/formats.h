// The table of formats, and what their readers share. Part of sotto::data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labels.h"
#include "sotto/data/dataset.h"
#include "sotto/data/source.h"

namespace sotto {

// What a reader is asked for.
struct ReadRequest {
  const DataSource& source;
  std::vector<std::string> files;  // to read, one behind the other; mostly one
  const ModelInfo* model;          // may be null
  const Selection& keep;           // may be null

  const std::string& path() const { return files.front(); }
  bool Has(const char* key) const { return source.options.count(key) > 0; }
  std::string Text(const char* key, const std::string& fallback = "") const;
  std::vector<std::string> List(const char* key) const;
  // A whole number of `least` to `most`.
  uint32_t Count(const char* key, uint32_t fallback, uint32_t least, uint32_t most) const;

  // What the model asks for; without one, or if it does not say, 0.
  uint32_t classes() const { return model != nullptr ? model->classes : 0; }
  uint32_t targets() const;
  uint32_t tokens() const { return model != nullptr ? model->layers[0].tokens : 0; }
  // Whether labels are read: not for a model without classes.
  bool wants_labels() const { return model == nullptr || model->classes > 0; }
  std::string ClassesOption() const;
  Labels MakeLabels() const;
};

struct FormatOption {
  const char* key;
  const char* help;
};

// A row of the table.
struct Format {
  const char* name;
  std::vector<std::string> endings;  // of file names, without .gz
  const char* what;                  // for DATA.md
  const char* example;
  std::vector<FormatOption> options;
  // Null: this program has been built without the library.
  SharedDataset (*read)(const ReadRequest& request);
  const char* library;  // null: none but zlib
  // A folder that holds the first file is a data set of this format.
  std::vector<std::string> train_files = {};
  std::vector<std::string> test_files = {};
  // A folder of which this finds files is a data set of this format: these files, in this order.
  std::vector<std::string> (*files_in)(const std::string& folder) = nullptr;
};

const std::vector<Format>& Formats();

// Gives a format the reader that only some programs link. Before other threads read.
void SetReader(const char* name, SharedDataset (*read)(const ReadRequest& request));

// The readers.
SharedDataset ReadCsv(const ReadRequest& request);
SharedDataset ReadNpy(const ReadRequest& request);
SharedDataset ReadNpz(const ReadRequest& request);
SharedDataset ReadLibsvm(const ReadRequest& request);
SharedDataset ReadIdx(const ReadRequest& request);
SharedDataset ReadCifar10(const ReadRequest& request);
SharedDataset ReadCifar100(const ReadRequest& request);
SharedDataset ReadSvhn(const ReadRequest& request);
SharedDataset ReadText(const ReadRequest& request);
SharedDataset ReadJsonl(const ReadRequest& request);
SharedDataset ReadLeaf(const ReadRequest& request);
SharedDataset ReadSound(const ReadRequest& request);

// The SampleInfo of samples with these axes, at most three: their own shape, or the model's, if it
// has as many numbers and no other order of axes.
//   axes  of a sample: {128, 3}; the model's shape is taken for a single axis
// Throws std::invalid_argument if the samples do not fit the model.
SampleInfo InfoFor(const ReadRequest& request, const std::vector<uint32_t>& axes);
nn::Shape ShapeOfAxes(const std::vector<uint32_t>& axes);

// Throws a FileError if the samples so far, and `more` bytes that the reader keeps besides, are
// beyond the limit of the source. A reader calls it for each sample, before it keeps it.
void RequireRoom(const ReadRequest& request, const StoredSamples& samples, size_t more = 0);

// The kept samples of a file that has `seen` samples. Throws if the file has none.
SharedDataset Build(const ReadRequest& request, SampleInfo info, StoredSamples samples,
                    size_t seen);

}  // namespace sotto
