// Data sets by name, folder or file, in two parts. Part of sotto::server/data.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/source.h"
#include "sotto/model_info.h"

namespace sotto::server {

// Where the Debian package dataset-fashion-mnist puts its files.
constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";

// The share of a file's samples that is split off for evaluation, unless the user names another.
constexpr double kTestShare = 0.1;

// Opens the samples for training and those for evaluation.
//   data   "synthetic"      generated, see data/synthetic.h
//          "fashion-mnist"  60,000 + 10,000 images of clothes, from `fashion_mnist_folder`
//          else             FILE[:KEY=VALUE,...] of sotto/data/source.h: a file, or a folder with
//                           the training and the test files of a published data set
//   test   empty: the test part of a named data set or folder; of a file the share kTestShare,
//          which is split off (data/parts.h)
//          a number between 0 and 1: that share of `data` is split off
//          else the same texts as for `data`: their test part, or the whole file
//   model  what the samples are for, see ReadDataset(); may be null
// To open a folder that has one of the two names, write for example ./synthetic.
//
// Throws std::runtime_error or std::invalid_argument that says what to do: where ReadDataset()
// does, for an unknown name, and for two parts of different samples.
TrainTest OpenTrainTest(const std::string& data, const std::string& test, const ModelInfo* model,
                        const std::string& fashion_mnist_folder = kFashionMnistFolder);

// What the labels of a file are for.
enum class LabelUse {
  kTest,      // predictions are compared with them
  kTraining,  // they say which class each label is, as in OpenTrainTest()
  kNobody,    // nothing: any labels are good
};

// The samples of `test` alone, as above; it is not empty and no number.
//   train  what is known of the training samples: columns are found by its names, and labels are
//          its classes. Null: the file alone says what its columns are
//   labels  what they are wanted for
// Throws std::invalid_argument, too, for labels of a test that may count from 1.
SharedDataset OpenTest(const std::string& test, const ModelInfo* model,
                       const SampleInfo* train = nullptr, LabelUse labels = LabelUse::kTest);

// Makes a source follow the training samples: their columns, and their classes.
void FollowTraining(const SampleInfo& train, DataSource* source);

// The same as OpenTrainTest() for a fleet: "synthetic" stands for data that fit the model, as many
// as the fleet wants, see SyntheticFor().
//   samples  that the whole fleet wants
TrainTest OpenForFleet(const std::string& data, const std::string& test, const ModelInfo* model,
                       uint64_t samples);

// "note: ..." lines for standard error, each once: what the owner of these data sets should know of
// how they were read, see SampleInfo.
//   data  each may be null
std::string NotesText(const std::vector<SharedDataset>& data);

}  // namespace sotto::server
