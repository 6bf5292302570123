#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <zip.h>

#include "arrays.h"
#include "named.h"
#include "sotto/data/foreign.h"
#include "sotto/options/nearest.h"

namespace sotto {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

// What to do about a file that is no whole archive.
const char* AdviceFor(const std::string& path) {
  std::string begin(4, '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), 4);
  if (begin.substr(0, 2) == "\x1F\x8B") return "it is compressed by gzip: gunzip FILE";
  if (begin == "PK\x03\x04") return "a part of it is missing or damaged: fetch it again";
  if (begin == "\x93NUM") return "it is one array of NumPy: give it a name that ends in .npy";
  return "write it with numpy.savez or numpy.savez_compressed";
}

Archive Open(const std::string& path) {
  posix::RequireRegularFile(path);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_OPEN || code == ZIP_ER_NOENT) {
    throw posix::FileError(
        fmt::format("{}: cannot be opened: {}; check the path and its permissions", path, why));
  }
  throw posix::FileError(
      fmt::format("{}: cannot be opened as .npz: {}; {}", path, why, AdviceFor(path)));
}

// An entry of the archive.
class Entry : public ByteSource {
 public:
  Entry(const std::string& name, zip_t* archive, zip_uint64_t index)
      : ByteSource(name),
        file_(zip_fopen_index(archive, index, 0)),
        growth_(CompressedSize(archive, index)) {
    if (file_ == nullptr) throw Defect(zip_strerror(archive), "write the file once more");
  }

  size_t Read(uint8_t* out, size_t count) override {
    size_t read = 0;
    while (read < count) {
      const zip_int64_t got = zip_fread(file_.get(), out + read, count - read);
      if (got < 0) {
        throw Defect(fmt::format("cannot be read: {}", zip_file_strerror(file_.get())),
                     "if it is damaged, fetch it again");
      }
      if (got == 0) break;
      read += static_cast<size_t>(got);
      if (!growth_.Add(static_cast<uint64_t>(got))) {
        throw GrowthDefect(
            "if the data are right, write them with numpy.savez, which does not compress");
      }
    }
    return read;
  }

 private:
  static uint64_t CompressedSize(zip_t* archive, zip_uint64_t index) {
    zip_stat_t about;
    zip_stat_init(&about);
    const bool is_known =
        zip_stat_index(archive, index, 0, &about) == 0 && (about.valid & ZIP_STAT_COMP_SIZE) != 0;
    return is_known ? about.comp_size : 0;
  }

  struct Close {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  std::unique_ptr<zip_file_t, Close> file_;
  Growth growth_;
};

bool EndsIn(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         std::string_view(text).substr(text.size() - ending.size()) == ending;
}

// What an archive without an array is: "it is a file of PyTorch; ...".
std::string DescribeArchive(const std::vector<std::string>& members) {
  for (const std::string& member : members) {
    const char* const ending = EndsIn(member, "data.pkl")     ? "a.pt"
                               : member.substr(0, 3) == "xl/" ? "a.xlsx"
                                                              : "";
    if (*ending != '\0') return ForeignFile(ending, "", NamedAs::kSamples);
  }
  return fmt::format(
      "it holds no array of NumPy, NAME.npy, but {}; unpack it and name the file in it",
      members.empty() ? "nothing" : Quoted(members.front()));
}

// The arrays of an archive.
class Directory {
 public:
  explicit Directory(const std::string& path) : path_(path), archive_(Open(path)) {
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    std::vector<std::string> others;
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
      std::string text = name == nullptr ? "" : name;
      if (!EndsIn(text, ".npy")) {
        others.push_back(text);
        continue;
      }
      text.resize(text.size() - 4);
      names_.push_back(text);
      places_.push_back(static_cast<zip_uint64_t>(i));
    }
    if (names_.empty())
      throw posix::FileError(fmt::format("{}: {}", path, DescribeArchive(others)));
  }

  // The array that the option names, or else the first of the usual names. Null: there is none and
  // the option does not ask for it.
  std::unique_ptr<NpyArray> Find(const ReadRequest& request, const char* option,
                                 const std::vector<std::string>& usual) const {
    const Named arrays(names_, "array");
    try {
      if (request.Has(option)) return OpenArray(arrays, request.Text(option));
      return OpenUsual(arrays, usual, option);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}: {}={}: {}", path_, option, request.Text(option), error.what()));
    }
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unique_ptr<NpyArray> OpenArray(const Named& arrays, const std::string& name) const {
    if (const std::optional<size_t> place = arrays.Find(name)) {
      return std::make_unique<NpyArray>(std::make_unique<Entry>(
          fmt::format("{}: array {}", path_, name), archive_.get(), places_[*place]));
    }
    throw std::invalid_argument(fmt::format("there is no such array; {}{}", arrays.List(),
                                            posix::DidYouMean(name, names_)));
  }

  // The one of the usual names that is there; two of them say nothing.
  std::unique_ptr<NpyArray> OpenUsual(const Named& arrays, const std::vector<std::string>& usual,
                                      const char* option) const {
    std::string found;
    for (const std::string& name : usual) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) continue;
      if (!found.empty()) {
        throw std::invalid_argument(fmt::format("which array is meant, {} or {}? Say {}={}; {}",
                                                found, name, option, found, arrays.List()));
      }
      found = name;
    }
    return found.empty() ? nullptr : OpenArray(arrays, found);
  }

  std::string path_;
  Archive archive_;
  std::vector<std::string> names_;
  std::vector<zip_uint64_t> places_;  // of each in the archive
};

}  // namespace

SharedDataset ReadNpz(const ReadRequest& request) {
  const Directory directory(request.path());
  Arrays arrays;
  arrays.x =
      directory.Find(request, "x", {"x", "X", "data", "features", "x_train", "X_train", "arr_0"});
  if (!arrays.x) {
    throw std::invalid_argument(fmt::format(
        "{}: which array holds the samples? Say x=NAME, and y=NAME for the labels; the arrays: {}",
        request.path(), fmt::join(directory.names(), ", ")));
  }
  arrays.y = directory.Find(
      request, "y",
      {"y", "Y", "labels", "label", "targets", "target", "y_train", "Y_train", "arr_1"});
  arrays.group = directory.Find(request, "group", {});
  return ReadArrays(request, arrays);
}

}  // namespace sotto
