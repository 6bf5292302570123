#include "folders.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sotto {
namespace {

namespace fs = std::filesystem;

bool HasEnding(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
}

bool IsJson(std::string name) { return HasEnding(name, ".json") || HasEnding(name, ".json.gz"); }

bool IsSound(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto ends = [&](const std::string& ending) { return HasEnding(name, ending); };
  return std::any_of(SoundEndings().begin(), SoundEndings().end(), ends);
}

// Appends the files that `is_wanted` by their names, in the folder and `depth` folders below it.
void Collect(const fs::path& folder, size_t depth, bool (*is_wanted)(std::string name),
             std::vector<std::string>* files) {
  std::error_code error;
  for (fs::directory_iterator next(folder, error), end; !error && next != end;
       next.increment(error)) {
    const std::string name = next->path().filename().string();
    std::error_code ignored;
    if (name.front() == '.') continue;
    if (depth > 0 && next->is_directory(ignored)) {
      Collect(folder / name, depth - 1, is_wanted, files);
    } else if (is_wanted(name) && next->is_regular_file(ignored)) {
      files->push_back((folder / name).string());
    }
  }
}

std::vector<std::string> Sorted(const std::string& folder, size_t depth,
                                bool (*is_wanted)(std::string name)) {
  std::vector<std::string> files;
  Collect(folder, depth, is_wanted, &files);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> JsonFilesIn(const std::string& folder) {
  return Sorted(folder, 0, IsJson);
}

const std::vector<std::string>& SoundEndings() {
  static const std::vector<std::string> kEndings = {".wav",  ".flac", ".ogg", ".opus",
                                                    ".aiff", ".aif",  ".au",  ".mp3"};
  return kEndings;
}

std::vector<std::string> SoundFilesIn(const std::string& folder) {
  return Sorted(folder, 3, IsSound);
}

}  // namespace sotto
