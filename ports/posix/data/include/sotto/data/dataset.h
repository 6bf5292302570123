// Data sets: samples of one shape. Part of sotto::data.
//
// Everything that reads samples (simulator, client, shard maker, evaluation) reads them through
// Dataset, whatever file or generator they come from. A data set is constant after it was made, so
// any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sotto/layer.h"
#include "sotto/span.h"

namespace sotto {

// The columns of a table, by name. Another file of the same samples finds its columns
// by these names, in whatever order it has them: see DataSource::like.
struct ColumnNames {
  // In the file's order; the columns of a table without a header have their numbers as names.
  // Empty: these are no columns of a table.
  std::vector<std::string> all;
  // In the order of a sample. Empty: names do not tell the features apart.
  std::vector<std::string> features;
  std::vector<std::string> onehot;   // of the features: those with texts
  std::vector<std::string> targets;  // of a regression
  std::string label;                 // empty: there is none
  std::string categories;            // the file that lists the texts of onehot, or empty
  bool has_header = false;
  bool are_of_model = false;  // a model's features, not the columns of a file
};

// What each sample of a data set is. It has a label, or a vector as target, or neither.
struct SampleInfo {
  nn::Shape shape;       // of the features
  uint32_t tokens = 0;   // above 0: features are ids of tokens, whole numbers below it
  uint32_t classes = 0;  // labels are below it; 0: there are no labels
  uint32_t targets = 0;  // numbers of a target for regression; 0: there is none
  std::vector<std::string> class_names = {};  // [classes], or empty: classes are numbers
  // The option classes= of the file, if the model names its classes and the file has other words
  // for them: another file of the same samples has these, too.
  std::string classes_option = {};
  // They are the labels of the file, sorted; nobody has given this order.
  bool are_classes_sorted = false;
  ColumnNames columns = {};  // of a table
  // [classes], or empty if there are no labels: the label of the file that stood for each class,
  // empty for a class that the file lacks.
  std::vector<std::string> spellings = {};
  bool counts_from_0 = false;     // classes have names, and labels are numbers, with a 0
  bool may_count_from_1 = false;  // labels are numbers that nobody has declared, and none is 0
  // What the owner of the data should know of how they were read. Programs print each once.
  std::vector<std::string> notes = {};
};

class Dataset {
 public:
  Dataset(std::string name, SampleInfo info) : name_(std::move(name)), info_(std::move(info)) {}
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const std::string& name() const { return name_; }  // for people: reports and messages
  const SampleInfo& info() const { return info_; }
  size_t input_size() const { return info_.shape.size(); }

  virtual size_t size() const = 0;

  // One sample; the caller ensures index < size() and the size of what is written.
  //   out  [input_size()] float32: stored bytes as byte * (1 / 255), tokens as whole numbers
  virtual void CopyFeatures(size_t index, Span<float> out) const = 0;
  // The label, below info().classes; 0 if there are none.
  virtual uint32_t Label(size_t index) const = 0;
  //   out  [info().targets] float32
  virtual void CopyTarget(size_t index, Span<float> out) const = 0;
  // Who or what a sample is from (a user, a speaker), below group_count(); 0 if nothing says so.
  virtual uint32_t Group(size_t index) const = 0;
  virtual uint32_t group_count() const { return 1; }
  // For people; group < group_count(). Empty: it has no name.
  virtual std::string GroupName(uint32_t) const { return {}; }
  // The stored bytes [input_size()] of a sample, or empty: it is not stored as bytes.
  virtual Span<const uint8_t> Bytes(size_t index) const = 0;
  // Whether samples are made when they are read, each drawn independently of all others. Reading
  // then takes time, and any samples are as good as any others.
  virtual bool is_generated() const { return false; }
  // Whether samples are windows that may share rows: two do if their places are closer than
  // input_size().
  virtual bool has_windows() const { return false; }
  virtual size_t Place(size_t index) const { return index * input_size(); }

 private:
  std::string name_;
  SampleInfo info_;
};

using SharedDataset = std::shared_ptr<const Dataset>;

// Samples in memory. Bytes stay bytes until a sample is used: 60,000 images of 28 x 28 take 47 MB;
// as float32 they would take 188 MB.
struct StoredSamples {
  // Features: of the two vectors one, the other is empty.
  std::vector<uint8_t> bytes;
  std::vector<float> numbers;
  // Where each sample begins in it, [samples]: windows may overlap. Empty: one behind the other.
  std::vector<size_t> starts;
  std::vector<uint32_t> labels;  // [samples], or empty
  std::vector<float> targets;    // [samples][info.targets], or empty
  std::vector<uint32_t> groups;  // [samples], or empty
  std::vector<std::string> group_names;
};

class StoredDataset : public Dataset {
 public:
  // Throws std::logic_error if the vectors do not go together.
  StoredDataset(std::string name, SampleInfo info, StoredSamples samples);

  size_t size() const override { return size_; }
  void CopyFeatures(size_t index, Span<float> out) const override;
  uint32_t Label(size_t index) const override {
    return samples_.labels.empty() ? 0 : samples_.labels[index];
  }
  void CopyTarget(size_t index, Span<float> out) const override;
  uint32_t Group(size_t index) const override {
    return samples_.groups.empty() ? 0 : samples_.groups[index];
  }
  uint32_t group_count() const override;
  std::string GroupName(uint32_t group) const override {
    return samples_.group_names.empty() ? std::string() : samples_.group_names[group];
  }
  Span<const uint8_t> Bytes(size_t index) const override;
  bool has_windows() const override { return !samples_.starts.empty(); }
  size_t Place(size_t index) const override {
    return samples_.starts.empty() ? index * input_size() : samples_.starts[index];
  }

  const StoredSamples& samples() const { return samples_; }

 private:
  StoredSamples samples_;
  size_t size_ = 0;
};

// Some samples of another data set, in the order of `indices`.
class Subset : public Dataset {
 public:
  //   indices  each below of->size()
  Subset(std::string name, SharedDataset of, std::vector<uint32_t> indices);

  size_t size() const override { return indices_.size(); }
  void CopyFeatures(size_t index, Span<float> out) const override {
    of_->CopyFeatures(indices_[index], out);
  }
  uint32_t Label(size_t index) const override { return of_->Label(indices_[index]); }
  void CopyTarget(size_t index, Span<float> out) const override {
    of_->CopyTarget(indices_[index], out);
  }
  uint32_t Group(size_t index) const override { return of_->Group(indices_[index]); }
  uint32_t group_count() const override { return of_->group_count(); }
  std::string GroupName(uint32_t group) const override { return of_->GroupName(group); }
  Span<const uint8_t> Bytes(size_t index) const override { return of_->Bytes(indices_[index]); }
  bool has_windows() const override { return of_->has_windows(); }
  size_t Place(size_t index) const override { return of_->Place(indices_[index]); }

 private:
  SharedDataset of_;
  std::vector<uint32_t> indices_;
};

// The samples for training and the samples for evaluation. Both have the same SampleInfo.
struct TrainTest {
  SharedDataset train;
  SharedDataset test;
};

}  // namespace sotto
