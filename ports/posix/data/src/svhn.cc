#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <matio.h>
#include <memory>
#include <stdexcept>

#include "byte_file.h"
#include "formats.h"
#include "sotto/posix/files.h"

namespace sotto {
namespace {

constexpr size_t kColours = 3;
constexpr size_t kMaxSide = 4096;
constexpr uint32_t kClasses = 10;
// An image's label 10 is the digit 0.
constexpr uint32_t kLabelOfZero = 10;
// Images that are read at once.
constexpr size_t kAtOnce = 8192;

struct CloseFile {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using File = std::unique_ptr<mat_t, CloseFile>;
using Variable = std::unique_ptr<matvar_t, FreeVariable>;

class SvhnReader {
 public:
  explicit SvhnReader(const ReadRequest& request)
      : request_(request),
        rules_(Labels::Numbered(request.ClassesOption(), request.classes(), kClasses)) {
    posix::RequireRegularFile(request.path());
    // The library would tell of each damaged field on standard error; what it cannot read is said
    // once, below.
    Mat_LogInitFunc("sotto", [](int, auto*) {});  // older libraries give a char*
    file_.reset(Mat_Open(request.path().c_str(), MAT_ACC_RDONLY));
    if (file_ == nullptr) {
      throw Defect("cannot be opened as a MATLAB file",
                   "expected train_32x32.mat, test_32x32.mat or extra_32x32.mat of SVHN");
    }
  }

  SharedDataset Read() {
    const Variable images = Find(request_.Text("x", "X"));
    RequireImages(*images);
    height_ = images->dims[0];
    width_ = images->dims[1];
    const size_t count = images->dims[3];
    RequireGrowth(uint64_t{count} * height_ * width_ * kColours);
    SampleInfo info = InfoFor(
        request_, {static_cast<uint32_t>(height_), static_cast<uint32_t>(width_), kColours});
    ReadLabels(count);
    Choose(count);
    RequireRoom(
        request_, samples_,
        wanted_.size() * height_ * width_ * kColours + labels_.capacity() * sizeof(uint32_t));
    rules_.Finish(request_.path(), &samples_.labels, &info);
    for (size_t next = 0; next < wanted_.size();) next = ReadFrom(images.get(), next);
    return Build(request_, info, std::move(samples_), count);
  }

 private:
  Variable Find(const std::string& name) {
    Variable variable(Mat_VarReadInfo(file_.get(), name.c_str()));
    if (variable != nullptr) return variable;
    throw Defect(
        fmt::format("holds no variable {}", name),
        "expected X, the images, and y, the labels, as in SVHN's cropped digits; if the file "
        "is incomplete, fetch it again");
  }

  void RequireImages(const matvar_t& images) const {
    const auto is_within = [&](int axis, size_t most) {
      return images.dims[axis] >= 1 && images.dims[axis] <= most;
    };
    // Places in the file are ints of libmatio.
    const bool are_images =
        images.class_type == MAT_C_UINT8 && images.isComplex == 0 && images.rank == 4 &&
        is_within(0, kMaxSide) && is_within(1, kMaxSide) && images.dims[2] == kColours &&
        is_within(3, std::numeric_limits<int>::max() / images.dims[0] / images.dims[1] / kColours);
    if (are_images) return;
    throw Defect("its images are of another kind",
                 "expected uint8 of [height][width][3 colours][images], at least one");
  }

  void RequireGrowth(uint64_t bytes) const {
    if (Growth(std::filesystem::file_size(request_.path())).Add(bytes)) return;
    throw Defect(
        fmt::format("its compressed data grow to more than {} times their size", Growth::kMost),
        "if the data are right, save them without compression: save -v6");
  }

  void ReadLabels(size_t count) {
    const std::string name = request_.Text("y", "y");
    // The size before the contents: a damaged one may ask for any memory.
    const bool fits = ElementsOf(*Find(name)) == count;
    const Variable labels(fits ? Mat_VarRead(file_.get(), name.c_str()) : nullptr);
    const bool is_bytes = labels != nullptr && labels->class_type == MAT_C_UINT8;
    const bool is_double = labels != nullptr && labels->class_type == MAT_C_DOUBLE;
    if (labels == nullptr || labels->data == nullptr || labels->isComplex != 0 ||
        !(is_bytes || is_double)) {
      throw Defect(fmt::format("{} holds no label for each of the {} images", name, count),
                   "expected double or uint8");
    }
    for (size_t i = 0; i < count; ++i) {
      const double label = is_double ? static_cast<const double*>(labels->data)[i]
                                     : static_cast<const uint8_t*>(labels->data)[i];
      if (label > kLabelOfZero) {
        throw Defect(fmt::format("label {} is {}", i, label), "expected 1 to 9, and 10 for a zero");
      }
      try {
        labels_.push_back(rules_.Take(label == kLabelOfZero ? 0 : label));
      } catch (const std::invalid_argument& error) {
        throw Defect(fmt::format("label {}", i), error.what());
      }
    }
  }

  static size_t ElementsOf(const matvar_t& variable) {
    size_t elements = 1;
    for (int i = 0; i < variable.rank; ++i) elements *= variable.dims[i];
    return elements;
  }

  void Choose(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (request_.keep && !request_.keep(i)) continue;
      wanted_.push_back(i);
      samples_.labels.push_back(labels_[i]);
    }
  }

  // Reads the images from wanted_[first] on, a part of the file at a time. Returns the first that
  // is not read yet.
  size_t ReadFrom(matvar_t* images, size_t first) {
    const size_t begin = wanted_[first];
    size_t end = first;
    while (end < wanted_.size() && wanted_[end] < begin + kAtOnce) ++end;
    const size_t count = wanted_[end - 1] - begin + 1;
    const size_t each = height_ * width_ * kColours;
    std::vector<uint8_t> planes(count * each);
    // Not Mat_VarReadData(): libmatio 1.5.23 skips data of more than three axes.
    if (Mat_VarReadDataLinear(file_.get(), images, planes.data(), static_cast<int>(begin * each), 1,
                              static_cast<int>(planes.size())) != 0) {
      throw Defect(fmt::format("images {} to {} cannot be read", begin, begin + count - 1),
                   "if the file is damaged, fetch it again");
    }
    for (size_t i = first; i < end; ++i) {
      AddPixels(planes.data() + (wanted_[i] - begin) * each);
    }
    return end;
  }

  // MATLAB's first axis runs fastest.
  void AddPixels(const uint8_t* image) {
    for (size_t y = 0; y < height_; ++y) {
      for (size_t x = 0; x < width_; ++x) {
        for (size_t c = 0; c < kColours; ++c) {
          samples_.bytes.push_back(image[y + height_ * (x + width_ * c)]);
        }
      }
    }
  }

  posix::FileError Defect(const std::string& what, const std::string& advice) const {
    return posix::FileError(fmt::format("{}: {}; {}", request_.path(), what, advice));
  }

  const ReadRequest& request_;
  Labels rules_;
  File file_;
  size_t height_ = 0;
  size_t width_ = 0;
  std::vector<uint32_t> labels_;
  std::vector<size_t> wanted_;
  StoredSamples samples_;
};

}  // namespace

SharedDataset ReadSvhn(const ReadRequest& request) { return SvhnReader(request).Read(); }

}  // namespace sotto
