// Fuzzes the readers of samples. Any content is either read or refused with a std::runtime_error or
// a std::invalid_argument that names the file.
//
// Input: which format and options (byte); the file's content.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "fuzz/input.h"
#include "sotto/data/source.h"

namespace sotto::fuzz {
namespace {

constexpr const char* kSources[] = {
    ":format=csv",
    ":format=csv,label=none,window=3,stride=2,missing=x",
    ":format=csv,separator=tab,targets=1,group=2,header=no",
    ":format=npy",
    ":format=npz",
    ":format=libsvm",
    ":format=libsvm,inputs=9,base=0,classes=3",
    ":format=cifar10",
    ":format=text,length=4,stride=1",
    ":format=text,length=3,alphabet=abc",
    ":format=jsonl",
    ":format=jsonl,label=none,window=2,stride=1,missing=x",
    ":format=jsonl,onehot=a,group=b,label=c",
    ":format=leaf",
    ":format=leaf,alphabet=abc",
};

// A file in memory with other content for each input.
class ScratchFile {
 public:
  ScratchFile() : descriptor_(memfd_create("sotto-fuzz", MFD_CLOEXEC)) {
    Require(descriptor_ >= 0, "the scratch file can be created");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~ScratchFile() { close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& Fill(ByteSpan content) {
    const auto size = static_cast<ssize_t>(content.size());
    Require(ftruncate(descriptor_, 0) == 0 &&
                pwrite(descriptor_, content.data(), content.size(), 0) == size,
            "the scratch file can be written");
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

// Every sample is what the data set says.
void Check(const Dataset& data) {
  const SampleInfo& info = data.info();
  std::vector<float> features(data.input_size());
  std::vector<float> target(info.targets);
  for (size_t i = 0; i < data.size(); ++i) {
    data.CopyFeatures(i, {features.data(), features.size()});
    if (info.targets > 0) data.CopyTarget(i, {target.data(), target.size()});
    Require(info.classes == 0 || data.Label(i) < info.classes, "labels are classes");
    Require(data.Group(i) < data.group_count(), "groups are below their count");
    for (const float feature : features) {
      Require(info.tokens == 0 || feature < static_cast<float>(info.tokens), "tokens are tokens");
    }
  }
}

// The kept samples equal the whole file's samples.
void CheckSelection(const DataSource& source, const Dataset& all) {
  const SharedDataset odd = ReadDataset(source, nullptr, [](size_t i) { return i % 2 == 1; });
  Require(odd->size() == all.size() / 2, "a selection has the wanted samples");
  std::vector<float> expected(all.input_size());
  std::vector<float> features(all.input_size());
  for (size_t i = 0; i < odd->size(); ++i) {
    all.CopyFeatures(2 * i + 1, {expected.data(), expected.size()});
    odd->CopyFeatures(i, {features.data(), features.size()});
    for (size_t k = 0; k < features.size(); ++k) {
      Require(features[k] == expected[k] || features[k] != features[k], "and no other features");
    }
  }
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  static ScratchFile file;
  Input input(data, size);
  const size_t choice = input.TakeByte() % (sizeof(kSources) / sizeof(kSources[0]));
  const std::string& path = file.Fill(input.rest());
  const sotto::DataSource source = sotto::ParseDataSource(path + kSources[choice]);
  std::string refusal = path;
  try {
    const sotto::SharedDataset all = sotto::ReadDataset(source, nullptr);
    Check(*all);
    CheckSelection(source, *all);
  } catch (const std::runtime_error& error) {
    refusal = error.what();
  } catch (const std::invalid_argument& error) {
    refusal = error.what();
  }
  Require(refusal.find(path) != std::string::npos, "a refusal names the file");
  return 0;
}
