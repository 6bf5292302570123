// Data sets by name. Part of sotto::server/data.
//
// Reentrant: safe from any thread.
#ifndef SOTTO_DATA_CATALOG_H_
#define SOTTO_DATA_CATALOG_H_

#include <string>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// Where the Debian package dataset-fashion-mnist puts its files.
constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";

// The classes of every data set here.
constexpr uint32_t kDatasetClasses = 10;

// Opens a data set.
//   source  "synthetic"      generated, see data/synthetic.h
//           "fashion-mnist"  60,000 + 10,000 images of clothes, from `fashion_mnist_folder`
//           anything else    the path of a folder with four IDX files of the MNIST family
// The four files are {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each plain
// or with .gz appended. If both forms exist, the plain file is read.
// To open a folder that has one of the two names, write for example ./synthetic.
//
// Throws std::runtime_error that says what to do: no such folder, a missing or defective file (see
// sotto/data/idx.h), training and test images of different sizes, a label above 9.
// The test part alone, for evaluation.
SharedDataset OpenTest(const std::string& test, const ModelInfo* model,
                       const std::string& fashion_mnist_folder = kFashionMnistFolder);

TrainTest OpenDataset(const std::string& source,
                      const std::string& fashion_mnist_folder = kFashionMnistFolder);

}  // namespace sotto::server

#endif  // SOTTO_DATA_CATALOG_H_
