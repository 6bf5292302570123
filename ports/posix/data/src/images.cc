// Readers of the image formats: IDX, and CIFAR's binary records.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "byte_file.h"
#include "formats.h"
#include "sotto/data/idx.h"

namespace sotto {
namespace {

constexpr char kLabelsAdvice[] =
    "name the file of the labels: --data IMAGES:labels=LABELS; a folder of the family of MNIST "
    "holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, each with or without .gz";

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

// With its place, if it is refused.
uint32_t TakeLabel(const ByteFile& file, const std::string& where, uint8_t label, Labels* rules) {
  try {
    return rules->Take(label);
  } catch (const std::invalid_argument& error) {
    throw file.Defect(where, error.what());
  }
}

constexpr size_t kSide = 32;
constexpr size_t kPlane = kSide * kSide;

// Records of `labels` bytes and 3 x 32 x 32 of an image.
//   used  which of the label bytes is the label
SharedDataset ReadCifar(const ReadRequest& request, size_t labels, size_t used, uint32_t classes,
                        const std::vector<std::string>& names) {
  SampleInfo info = InfoFor(request, {kSide, kSide, 3});
  Labels rules = Labels::Numbered(request.ClassesOption(), request.classes(), classes, names);
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
      const uint32_t label =
          TakeLabel(file, fmt::format("record {}", in_file), record[used], &rules);
      const size_t index = seen++;
      RequireRoom(request, samples);
      if (request.keep && !request.keep(index)) continue;
      samples.labels.push_back(label);
      ToPixels(record.data() + labels, kPlane, &samples.bytes);
    }
  }
  rules.Finish(request.path(), &samples.labels, &info);
  return Build(request, info, std::move(samples), seen);
}

// From the labels of an IDX file to provisional classes, then to classes.
void TakeLabels(const ReadRequest& request, const std::string& path, IdxSamples* read,
                SampleInfo* info) {
  Labels rules = Labels::Numbered(request.ClassesOption(), request.classes(), 10);
  rules.CountFrom0(request.source.counts_from_0);  // the format does not say
  for (size_t i = 0; i < read->labels.size(); ++i) {
    try {
      rules.Take(read->labels[i]);
    } catch (const std::invalid_argument& error) {
      throw posix::FileError(fmt::format("{}: label {}: {}", path, i, error.what()));
    }
  }
  for (uint32_t& label : read->samples.labels) label = rules.Take(label);
  rules.Finish(path, &read->samples.labels, info);
}

}  // namespace

SharedDataset ReadIdx(const ReadRequest& request) {
  const std::string labels = LabelsOf(request);
  IdxSamples read = ReadIdxSamples(request.path(), labels, request.keep);
  RequireRoom(request, read.samples, read.labels.size());
  SampleInfo info = InfoFor(request, {read.rows, read.columns, 1});
  if (!labels.empty()) TakeLabels(request, labels, &read, &info);
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
