#include "arrays.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "values.h"

namespace sotto {
namespace {

constexpr size_t kMaxTargets = 65536;

class ArrayReader {
 public:
  ArrayReader(const ReadRequest& request, const Arrays& arrays)
      : request_(request), x_(*arrays.x), y_(arrays.y.get()), group_(arrays.group.get()) {}

  SharedDataset Read() {
    RequireRows(y_);
    RequireRows(group_);
    info_ = Info();
    if (y_ != nullptr) ReadY();
    if (group_ != nullptr) ReadGroups();
    if (x_.is_text()) throw x_.Defect("it holds texts", "expected numbers");
    if (x_.is_bytes()) {
      ReadByteFeatures();
    } else if (x_.is_fortran()) {
      ReadColumns();
    } else {
      ReadRows();
    }
    return Build(request_, info_, std::move(samples_), x_.rows());
  }

 private:
  void RequireRows(const NpyArray* other) const {
    if (other == nullptr || other->rows() == x_.rows()) return;
    throw other->Defect(fmt::format("{} rows", other->rows()),
                        fmt::format("expected {}, one for each sample", x_.rows()));
  }

  SampleInfo Info() const {
    try {
      return InfoFor(request_, Axes());
    } catch (const std::invalid_argument& error) {
      if (x_.name() == request_.path()) throw;
      throw std::invalid_argument(
          fmt::format("{}; the samples are {}, x= names another", error.what(), x_.name()));
    }
  }

  // Of a sample. Bytes with two axes are grey images.
  std::vector<uint32_t> Axes() const {
    std::vector<uint32_t> axes;
    for (size_t i = 1; i < x_.shape().size(); ++i) {
      axes.push_back(static_cast<uint32_t>(
          std::min<size_t>(x_.shape()[i], std::numeric_limits<uint32_t>::max())));
    }
    if (axes.empty()) axes.push_back(1);
    if (x_.is_bytes() && axes.size() == 2) axes.push_back(1);
    return axes;
  }

  void ReadY() {
    const bool is_target = request_.targets() > 0 || (request_.model == nullptr && y_->is_real());
    if (is_target) {
      ReadTargets();
    } else if (request_.wants_labels()) {
      ReadLabels();
    }
  }

  void ReadTargets() {
    if (y_->is_fortran() || y_->is_text()) {
      throw y_->Defect("its targets cannot be read", "expected numbers in C order");
    }
    const size_t each = y_->row_size();
    if (each > kMaxTargets) {
      throw y_->Defect(fmt::format("targets of {} numbers", each),
                       fmt::format("expected at most {}", kMaxTargets));
    }
    info_.targets = static_cast<uint32_t>(each);
    std::vector<double> row(each);
    ForEachRow(*y_, [&](size_t sample, bool is_wanted) {
      y_->ReadNumbers(row.data(), each);
      for (const double value : row) {
        InPlace(
            *y_, sample, [&] { return fmt::format("{}", value); },
            [&] {
              const float target = TargetOf(value);
              if (is_wanted) samples_.targets.push_back(target);
            });
      }
    });
  }

  void ReadLabels() {
    if (y_->row_size() != 1) {
      throw y_->Defect(fmt::format("{} numbers a sample", y_->row_size()),
                       "expected one label; of one-hot rows take y.argmax(axis=1)");
    }
    Labels labels = request_.MakeLabels();
    ForEachRow(*y_, [&](size_t sample, bool is_wanted) {
      const std::string text = y_->ReadAsText();
      InPlace(
          *y_, sample, [&] { return Quoted(text); },
          [&] {
            const uint32_t label = labels.Take(text);
            if (is_wanted) samples_.labels.push_back(label);
          });
    });
    labels.Finish(request_.path(), &samples_.labels, &info_);
  }

  void ReadGroups() {
    if (group_->row_size() != 1) throw group_->Defect("it has several columns", "expected one");
    Groups groups;
    ForEachRow(*group_, [&](size_t sample, bool is_wanted) {
      const std::string text = group_->ReadAsText();
      InPlace(
          *group_, sample, [&] { return Quoted(text); },
          [&] {
            const uint32_t group = groups.Take(text);
            kept_ = groups.bytes();
            if (is_wanted) samples_.groups.push_back(group);
          });
    });
    samples_.group_names = groups.names();
  }

  // Calls take(row, is_wanted) for each row, which reads it. The first array that is read decides
  // which samples are wanted: memory grows with what the file has, not with what its header says.
  template <class Take>
  void ForEachRow(NpyArray& array, Take take) {
    size_t next = 0;
    for (size_t row = 0; row < array.rows(); ++row) {
      if (!has_chosen_) Choose(row);
      RequireRoom(request_, samples_, kept_ + wanted_.capacity() * sizeof(size_t));
      const bool is_wanted = next < wanted_.size() && wanted_[next] == row;
      if (is_wanted) ++next;
      take(row, is_wanted);
    }
    array.RequireEnd();
    has_chosen_ = true;
  }

  void Choose(size_t row) {
    if (!request_.keep || request_.keep(row)) wanted_.push_back(row);
  }

  // What the rules for labels and numbers refuse is a defect with its place.
  template <class Show, class Take>
  static void InPlace(const NpyArray& array, size_t row, Show show, Take take) {
    try {
      take();
    } catch (const std::invalid_argument& error) {
      throw array.Defect(fmt::format("row {}: {}", row, show()), error.what());
    }
  }

  float Feature(double value, size_t sample) const {
    try {
      return FeatureOf(request_, value);
    } catch (const std::invalid_argument& error) {
      throw x_.Defect(fmt::format("sample {}: {}", sample, value), error.what());
    }
  }

  void ReadRows() {
    std::vector<double> row(x_.row_size());
    ForEachRow(x_, [&](size_t sample, bool is_wanted) {
      x_.ReadNumbers(row.data(), row.size());
      for (const double value : row) {
        const float feature = Feature(value, sample);
        if (is_wanted) samples_.numbers.push_back(feature);
      }
    });
  }

  // In Fortran order the first axis runs fastest: one feature of all samples comes behind the
  // other.
  void ReadColumns() {
    const std::vector<size_t> places = FortranPlaces();
    std::vector<float> columns;
    for (size_t i = 0; i < places.size(); ++i) AppendColumn(&columns);
    x_.RequireEnd();
    const size_t samples = wanted_.size();
    samples_.numbers.resize(samples * places.size());
    for (size_t i = 0; i < samples * places.size(); ++i) {
      samples_.numbers[i % samples * places.size() + places[i / samples]] = columns[i];
    }
  }

  void AppendColumn(std::vector<float>* columns) {
    size_t next = 0;
    for (size_t sample = 0; sample < x_.rows(); ++sample) {
      const float value = Feature(NextNumber(sample), sample);
      if (!has_chosen_) Choose(sample);
      RequireRoom(request_, samples_, kept_ + columns->capacity() * 2 * sizeof(float));
      if (next == wanted_.size() || wanted_[next] != sample) continue;
      ++next;
      columns->push_back(value);
    }
    has_chosen_ = true;
  }

  // Of a column: a single read of many numbers is faster.
  double NextNumber(size_t sample) {
    constexpr size_t kAtOnce = 4096;
    if (sample % kAtOnce == 0) {
      column_.resize(std::min(kAtOnce, x_.rows() - sample));
      x_.ReadNumbers(column_.data(), column_.size());
    }
    return column_[sample % kAtOnce];
  }

  // Where in a sample in C order the features stand that come one behind the other in Fortran
  // order.
  std::vector<size_t> FortranPlaces() const {
    const std::vector<size_t>& shape = x_.shape();
    std::vector<size_t> places = {0};
    size_t stride = x_.row_size();
    for (size_t axis = 1; axis < shape.size(); ++axis) {
      stride /= shape[axis];
      const std::vector<size_t> before = places;
      places.clear();
      for (size_t i = 0; i < shape[axis]; ++i) {
        for (const size_t place : before) places.push_back(place + i * stride);
      }
    }
    return places;
  }

  void ReadByteFeatures() {
    if (x_.is_fortran()) {
      throw x_.Defect("bytes in Fortran order", "write it as numpy.ascontiguousarray(x)");
    }
    if (info_.shape.height == 1 && info_.tokens == 0) {
      info_.notes.push_back(
          fmt::format("{}: its bytes are read as byte / 255, as an image is; "
                      "save numbers of another meaning as another type",
                      x_.name()));
    }
    const size_t each = x_.row_size();
    std::vector<uint8_t> row(each);
    ForEachRow(x_, [&](size_t, bool is_wanted) {
      x_.ReadBytes(row.data(), each);
      if (is_wanted) samples_.bytes.insert(samples_.bytes.end(), row.begin(), row.end());
    });
  }

  const ReadRequest& request_;
  NpyArray& x_;
  NpyArray* y_;
  NpyArray* group_;
  SampleInfo info_;
  std::vector<size_t> wanted_;  // numbers of the wanted samples
  bool has_chosen_ = false;     // they are known
  std::vector<double> column_;
  size_t kept_ = 0;  // bytes of the groups' names
  StoredSamples samples_;
};

}  // namespace

SharedDataset ReadArrays(const ReadRequest& request, const Arrays& arrays) {
  return ArrayReader(request, arrays).Read();
}

SharedDataset ReadNpy(const ReadRequest& request) {
  const auto open = [](const std::string& path) {
    return std::make_unique<NpyArray>(std::make_unique<ByteFile>(path));
  };
  Arrays arrays;
  arrays.x = open(request.path());
  if (request.Has("y")) arrays.y = open(request.Text("y"));
  if (request.Has("group")) arrays.group = open(request.Text("group"));
  return ReadArrays(request, arrays);
}

}  // namespace sotto
