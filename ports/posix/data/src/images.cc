// Readers of the image formats: IDX, and CIFAR's binary records.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "byte_file.h"
#include "formats.h"
#include "sotto/data/idx.h"
#include "sotto/options/numbers.h"

namespace sotto {
namespace {

constexpr char kLabelsAdvice[] =
    "name the file of the labels: --data IMAGES:labels=LABELS; a folder of the family of MNIST "
    "holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, each with or without .gz";

// The classes of labels that are numbers already, and their names.
//   usual  without option and model
void UseClasses(const ReadRequest& request, uint32_t usual,
                const std::vector<std::string>& usual_names, SampleInfo* info) {
  info->classes = request.classes() > 0 ? request.classes() : usual;
  const std::string option = request.ClassesOption();
  if (option.empty()) {
    if (usual_names.size() == info->classes) info->class_names = usual_names;
    return;
  }
  const std::optional<uint64_t> count = posix::ParseCount(option);
  if (!count) info->class_names = SplitList(option);
  const uint64_t classes = count ? *count : info->class_names.size();
  if (classes < 1 || classes > 65536 || (request.classes() > 0 && classes != request.classes())) {
    throw std::invalid_argument(fmt::format("{}: classes={}: {} classes, expected {}",
                                            request.path(), option, classes,
                                            request.classes() > 0 ? request.classes() : 65536));
  }
  info->classes = static_cast<uint32_t>(classes);
}

// train-images-idx3-ubyte.gz has its labels in train-labels-idx1-ubyte or the same with .gz.
std::string LabelsOf(const ReadRequest& request) {
  if (request.Has("labels")) return request.Text("labels");
  if (!request.wants_labels()) return "";
  const std::filesystem::path path = request.path();
  std::string name = path.filename().string();
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = name.rfind(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
    return at != std::string::npos;
  };
  if (!replace("images", "labels")) {
    throw std::invalid_argument(fmt::format("{}: {}", request.path(), kLabelsAdvice));
  }
  replace("idx3", "idx1");
  if (name.size() > 3 && name.substr(name.size() - 3) == ".gz") name.resize(name.size() - 3);
  return FindFile((path.parent_path() / name).string(), kLabelsAdvice);
}

// Planes of one colour each become pixels of three colours.
void ToPixels(const uint8_t* planes, size_t plane, std::vector<uint8_t>* pixels) {
  for (size_t i = 0; i < plane; ++i) {
    for (size_t colour = 0; colour < 3; ++colour) pixels->push_back(planes[colour * plane + i]);
  }
}

constexpr size_t kSide = 32;
constexpr size_t kPlane = kSide * kSide;

// Records of `labels` bytes and 3 x 32 x 32 of an image.
//   used  which of the label bytes is the label
SharedDataset ReadCifar(const ReadRequest& request, size_t labels, size_t used, uint32_t classes,
                        const std::vector<std::string>& names) {
  SampleInfo info = InfoFor(request, {kSide, kSide, 3});
  UseClasses(request, classes, names, &info);
  StoredSamples samples;
  std::vector<uint8_t> record(labels + 3 * kPlane);
  size_t seen = 0;
  for (const std::string& path : request.files) {
    ByteFile file(path);
    for (size_t in_file = 0;; ++in_file) {
      const size_t got = file.Read(record.data(), record.size());
      if (got == 0) break;
      if (got < record.size()) {
        throw file.Defect(fmt::format("ends within record {}", in_file),
                          fmt::format("expected records of {} bytes; is it the binary version of "
                                      "CIFAR?",
                                      record.size()));
      }
      if (record[used] >= classes) {
        throw file.Defect(fmt::format("the label of record {} is {}", in_file, record[used]),
                          fmt::format("expected 0 to {}; is it the binary version of CIFAR-{}?",
                                      classes - 1, classes == 10 ? 10 : 100));
      }
      if (record[used] >= info.classes) {
        throw file.Defect(fmt::format("the label of record {} is {}", in_file, record[used]),
                          fmt::format("the model has the classes 0 to {}; choose one that tells {} "
                                      "classes apart",
                                      info.classes - 1, classes));
      }
      const size_t index = seen++;
      if (request.keep && !request.keep(index)) continue;
      samples.labels.push_back(record[used]);
      ToPixels(record.data() + labels, kPlane, &samples.bytes);
    }
  }
  return Build(request, info, std::move(samples), seen);
}

}  // namespace

SharedDataset ReadIdx(const ReadRequest& request) {
  const std::string labels = LabelsOf(request);
  SampleInfo info;
  UseClasses(request, 0, {}, &info);
  IdxSamples read = ReadIdxSamples(request.path(), labels, info.classes, request.keep);
  SampleInfo shape = InfoFor(request, {read.rows, read.columns, 1});
  info.shape = shape.shape;
  info.tokens = shape.tokens;
  if (info.classes == 0 && !labels.empty()) info.classes = std::max<uint32_t>(10, read.most + 1);
  return Build(request, info, std::move(read.samples), read.count);
}

SharedDataset ReadCifar10(const ReadRequest& request) {
  return ReadCifar(
      request, 1, 0, 10,
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
}

SharedDataset ReadCifar100(const ReadRequest& request) {
  const std::string labels = request.Text("labels", "fine");
  if (labels == "coarse") return ReadCifar(request, 2, 0, 20, {});
  if (labels == "fine") return ReadCifar(request, 2, 1, 100, {});
  throw std::invalid_argument(
      fmt::format("{}: labels={}: expected fine or coarse", request.path(), labels));
}

}  // namespace sotto
