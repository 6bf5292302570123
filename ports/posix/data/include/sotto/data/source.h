// Samples from files: one table of formats with a reader each. Part of sotto::data.
//
//   --data FILE[:KEY=VALUE,...]
//
// FILE ends in a way that says its format, or its first bytes do, or the option `format`. A folder
// holds the files of a published data set, or files of one format, which are taken by their names'
// order. server/DATA.md is the manual of the formats and of their
// options; FormatsTable() prints its tables.
//
// Readers go through a file once and keep the wanted samples only, so a device that uses 50 samples
// of 60,000 takes the memory of 50. What is kept has a limit, DataSource::memory_limit, and what is
// compressed may grow to 64 times its size. Features are raw: what a model prepares is prepared
// later.
//
// A defect of a file is a posix::FileError that names file, line or sample, column, what was
// expected and what to do. A wrong option, a path that names neither a regular file nor a folder,
// and samples that do not fit the model are a std::invalid_argument. Stateless; safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto {

// A file or folder, and how to read it.
struct DataSource {
  std::string path;
  std::map<std::string, std::string> options = {};
  std::string name = {};  // of the data set, for people; empty: the path
  // The columns of the samples that these go with, for a test file the training samples. By these
  // names the columns of this file are found; what the options say about them counts first. Empty:
  // there are none.
  ColumnNames like = {};
  // The option `classes` has names that were sorted, see SampleInfo: no numbers stand for them.
  bool are_classes_sorted = false;
  bool counts_from_0 = false;  // numbers stand for classes as in SampleInfo, also without a 0
  // The source holds the samples of all devices, as in a simulation. No other file can lack a
  // class, so texts may be sorted to be the classes of a model that does not name them.
  bool is_of_all_devices = false;
  bool ignores_labels = false;  // only their column is found; samples have the class 0
  std::string text = {};        // that was parsed, for messages
  // Bytes that the kept samples and what goes with them may take; 0: half of the machine's memory.
  uint64_t memory_limit = 0;
};

// Parses FILE[:KEY=VALUE,...]. Options begin at the first colon that a KEY= follows; the next one
// begins at a comma that a KEY= follows. So a value may hold commas (features=ax,ay,az). In FILE
// and in values \, \= \: and \\ stand for the characters themselves, \n and \t for line end and
// tab. A KEY is of a-z and -. Throws std::invalid_argument for an empty FILE and for a KEY that
// comes twice. It opens no file.
DataSource ParseDataSource(const std::string& text);

// The reverse: a text that ParseDataSource() reads as this source.
std::string FormatDataSource(const DataSource& source);

// The source with the names of its files taken as those in this folder, unless they begin with /:
// FILE, and the value of each option that names a file there, or one with .gz behind it.
DataSource InFolder(DataSource source, const std::string& folder);

// Throws std::invalid_argument if FILE is not there, and a file is whose name is the whole text:
// its colon needs a backslash.
void RequireWholeName(const DataSource& source);

// The value of an option that names several things, as ParseDataSource() leaves it, and back: names
// with a comma between them; a comma in a name has a backslash before it.
std::vector<std::string> SplitList(const std::string& value);
std::string JoinList(const std::vector<std::string>& names);

// Which samples to keep, by their number in the file. Null: all. It is called once for each sample,
// in the order of the file.
using Selection = std::function<bool(size_t index)>;

// Reads the wanted samples, in the file's order.
//   model  what the samples are for: it gives shape, tokens, classes and targets, and a sample with
//          another number of features is refused. Null: the file alone decides
SharedDataset ReadDataset(const DataSource& source, const ModelInfo* model,
                          const Selection& keep = nullptr);

// How many samples ReadDataset() reads without a selection. It goes through the file, too, and
// throws like it.
size_t CountSamples(const DataSource& source, const ModelInfo* model);

// Whether `path` is a folder with the files of a published data set, which has two parts. Of such a
// folder the option part=test means its test samples; without it the training samples are read.
bool IsDataFolder(const std::string& path);

// The regular files that hold a source's samples, their labels, or what its options name, as far as
// they are there. It opens none of them.
std::vector<std::string> FilesIn(const DataSource& source);

// The formats and their options as Markdown, for documentation.
std::string FormatsTable();

}  // namespace sotto
