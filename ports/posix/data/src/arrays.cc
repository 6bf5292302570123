#include "arrays.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float ToFloat(double value) {
  if (std::fabs(value) <= std::numeric_limits<float>::max() || std::isnan(value)) {
    return static_cast<float>(value);
  }
  return value > 0 ? kInfinity : -kInfinity;
}

// The numbers of the wanted samples.
std::vector<size_t> Wanted(const Selection& keep, size_t samples) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < samples; ++i) {
    if (!keep || keep(i)) wanted.push_back(i);
  }
  return wanted;
}

class ArrayReader {
 public:
  ArrayReader(const ReadRequest& request, const Arrays& arrays)
      : request_(request), x_(*arrays.x), y_(arrays.y.get()), group_(arrays.group.get()) {}

  SharedDataset Read() {
    RequireRows(y_);
    RequireRows(group_);
    info_ = InfoFor(request_, Axes());
    wanted_ = Wanted(request_.keep, x_.rows());
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
    x_.RequireEnd();
    return Build(request_, info_, std::move(samples_), x_.rows());
  }

 private:
  void RequireRows(const NpyArray* other) const {
    if (other == nullptr || other->rows() == x_.rows()) return;
    throw other->Defect(fmt::format("{} rows", other->rows()),
                        fmt::format("expected {}, one for each sample", x_.rows()));
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
    info_.targets = static_cast<uint32_t>(each);
    std::vector<double> row(each);
    ForEachRow(*y_, [&](size_t sample, bool is_wanted) {
      y_->ReadNumbers(row.data(), each);
      for (const double value : row) {
        const float target = ToFloat(value);
        if (!std::isfinite(target)) {
          throw y_->Defect(fmt::format("row {}: {}", sample, value), "expected a finite target");
        }
        if (is_wanted) samples_.targets.push_back(target);
      }
    });
  }

  void ReadLabels() {
    if (y_->row_size() != 1) {
      throw y_->Defect(fmt::format("{} numbers a sample", y_->row_size()),
                       "expected one label; of one-hot rows take y.argmax(axis=1)");
    }
    Labels labels(request_.ClassesOption(), request_.classes());
    ForEachRow(*y_, [&](size_t sample, bool is_wanted) {
      const std::string text = NextText(*y_);
      try {
        const uint32_t label = labels.Take(text);
        if (is_wanted) samples_.labels.push_back(label);
      } catch (const std::invalid_argument& error) {
        throw y_->Defect(fmt::format("row {}", sample), error.what());
      }
    });
    try {
      labels.Finish(&samples_.labels, &info_);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: {}", request_.path(), error.what()));
    }
  }

  void ReadGroups() {
    if (group_->row_size() != 1) throw group_->Defect("it has several columns", "expected one");
    Names names;
    ForEachRow(*group_, [&](size_t, bool is_wanted) {
      const uint32_t group = names.Id(NextText(*group_));
      if (is_wanted) samples_.groups.push_back(group);
    });
    samples_.group_names = names.all();
  }

  static std::string NextText(NpyArray& array) {
    if (array.is_text()) return array.ReadText();
    double value;
    array.ReadNumbers(&value, 1);
    return fmt::format("{}", value);
  }

  // Calls take(row, is_wanted) for each row, which reads it.
  template <class Take>
  void ForEachRow(NpyArray& array, Take take) {
    auto next = wanted_.begin();
    for (size_t row = 0; row < array.rows(); ++row) {
      const bool is_wanted = next != wanted_.end() && *next == row;
      if (is_wanted) ++next;
      take(row, is_wanted);
    }
    array.RequireEnd();
  }

  void Check(float feature, size_t sample) const {
    if (const char* fault = FaultOf(request_, feature)) {
      throw x_.Defect(fmt::format("sample {}: {}", sample, feature), fault);
    }
  }

  void ReadRows() {
    std::vector<double> row(x_.row_size());
    auto next = wanted_.begin();
    for (size_t sample = 0; sample < x_.rows(); ++sample) {
      x_.ReadNumbers(row.data(), row.size());
      const bool is_wanted = next != wanted_.end() && *next == sample;
      if (is_wanted) ++next;
      for (const double value : row) {
        Check(ToFloat(value), sample);
        if (is_wanted) samples_.numbers.push_back(ToFloat(value));
      }
    }
  }

  // In Fortran order the first axis runs fastest: one feature of all samples comes behind the
  // other.
  void ReadColumns() {
    const std::vector<size_t> places = FortranPlaces();
    samples_.numbers.resize(wanted_.size() * places.size());
    std::vector<double> column(x_.rows());
    for (const size_t place : places) {
      x_.ReadNumbers(column.data(), column.size());
      for (size_t i = 0; i < column.size(); ++i) Check(ToFloat(column[i]), i);
      for (size_t i = 0; i < wanted_.size(); ++i) {
        samples_.numbers[i * places.size() + place] = ToFloat(column[wanted_[i]]);
      }
    }
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
    const size_t each = x_.row_size();
    std::vector<uint8_t> row(each);
    auto next = wanted_.begin();
    for (size_t sample = 0; sample < x_.rows(); ++sample) {
      x_.ReadBytes(row.data(), each);
      if (next == wanted_.end() || *next != sample) continue;
      ++next;
      samples_.bytes.insert(samples_.bytes.end(), row.begin(), row.end());
    }
  }

  const ReadRequest& request_;
  NpyArray& x_;
  NpyArray* y_;
  NpyArray* group_;
  SampleInfo info_;
  std::vector<size_t> wanted_;
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
