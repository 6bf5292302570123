#include "data/catalog.h"

#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "data/synthetic.h"
#include "sotto/data/idx.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderAdvice[] =
    "a data set folder holds train-images-idx3-ubyte, train-labels-idx1-ubyte, "
    "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each with or without .gz";
constexpr char kFashionMnistAdvice[] =
    "install the package dataset-fashion-mnist, or use --data synthetic, which needs no files";

// A folder of IDX files, and the advice to print if a file is missing.
struct Source {
  std::string name;
  fs::path folder;
  std::string advice;
};

// The file itself or its compressed form.
std::string FindFile(const Source& source, const std::string& file_name) {
  for (const char* suffix : {"", ".gz"}) {
    const fs::path path = source.folder / (file_name + suffix);
    std::error_code ignored;  // an unreadable path counts as missing
    if (fs::exists(path, ignored)) return path.string();
  }
  throw std::runtime_error(fmt::format("{}: neither {} nor {}.gz is there; {}",
                                       source.folder.string(), file_name, file_name,
                                       source.advice));
}

SharedDataset OpenPart(const Source& source, const std::string& part) {
  return ReadIdxDataset(source.name, FindFile(source, part + "-images-idx3-ubyte"),
                        FindFile(source, part + "-labels-idx1-ubyte"), kDatasetClasses);
}

TrainTest OpenFolder(const Source& source) {
  TrainTest data{OpenPart(source, "train"), OpenPart(source, "t10k")};
  const nn::Shape& train = data.train->info().shape;
  const nn::Shape& test = data.test->info().shape;
  if (!(train == test)) {
    throw std::runtime_error(fmt::format(
        "{}: training images are {} x {} pixels but test images {} x {}, expected the same; take "
        "all four files from the same release",
        source.folder.string(), train.height, train.width, test.height, test.width));
  }
  return data;
}

}  // namespace

TrainTest OpenDataset(const std::string& source, const std::string& fashion_mnist_folder) {
  if (source == "synthetic") return MakeSynthetic();
  if (source == "fashion-mnist") {
    return OpenFolder({source, fashion_mnist_folder, kFashionMnistAdvice});
  }
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) return OpenFolder({source, source, kFolderAdvice});
  throw std::runtime_error(
      fmt::format("\"{}\" is not a data set; use synthetic, fashion-mnist, or the path of a folder "
                  "with the four IDX files of the MNIST family",
                  source));
}

SharedDataset OpenTest(const std::string& test, const ModelInfo*,
                       const std::string& fashion_mnist_folder) {
  return OpenDataset(test, fashion_mnist_folder).test;
}

}  // namespace sotto::server
