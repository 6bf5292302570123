// Data sets by name. Part of sotto::server/data.
#ifndef SOTTO_DATA_CATALOG_H_
#define SOTTO_DATA_CATALOG_H_

#include <string>

#include "sotto/data/dataset.h"

namespace sotto::server {

// Where the Debian package dataset-fashion-mnist puts its files.
constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";

// The classes of every data set here.
constexpr int kDatasetClasses = 10;

// Opens a data set.
//   source  "synthetic"      made on the spot, see data/synthetic.h
//           "fashion-mnist"  60,000 + 10,000 images of clothes, from `fashion_mnist_folder`
//           anything else    the path of a folder with four IDX files of the MNIST family
// The four files are {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each as it
// is or with .gz appended; as it is wins if both exist.
// A folder that happens to be called like one of the names is reached as ./synthetic.
//
// Throws std::runtime_error that says what to do: no such folder, a file missing or defective (see
// data/idx.h), training and test images of different sizes, a label above 9.
TrainTest OpenDataset(const std::string& source,
                      const std::string& fashion_mnist_folder = kFashionMnistFolder);

}  // namespace sotto::server

#endif  // SOTTO_DATA_CATALOG_H_
