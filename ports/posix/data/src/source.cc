#include "sotto/data/source.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "byte_file.h"
#include "formats.h"
#include "sotto/data/foreign.h"
#include "sotto/options/nearest.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

bool IsKeyCharacter(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

// The length of the KEY of a KEY= that begins at `at`; 0: none does.
size_t KeyAt(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsKeyCharacter(text[end])) ++end;
  return end < text.size() && text[end] == '=' ? end - at : 0;
}

// Where the next option begins: behind a `mark` without a backslash before it.
size_t NextOption(const std::string& text, size_t from, char mark) {
  for (size_t at = from; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == mark && KeyAt(text, at + 1) > 0) {
      return at + 1;
    }
  }
  return text.size() + 1;
}

// Undoes the backslashes, but not those before a comma or a backslash: SplitList() needs them.
std::string Unescaped(const std::string& text) {
  std::string value;
  for (size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '\\' && at + 1 < text.size() ? text[at + 1] : 0;
    if (next == 'n' || next == 't' || next == '=' || next == ':') {
      value += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      ++at;
    } else {
      value += text[at];
      if (next != 0) value += text[++at];
    }
  }
  return value;
}

// FILE has no lists: all backslashes are undone.
std::string UnescapedPath(const std::string& text) {
  std::string path;
  const std::string value = Unescaped(text);
  for (size_t at = 0; at < value.size(); ++at) {
    const char next = value[at] == '\\' && at + 1 < value.size() ? value[at + 1] : 0;
    if (next == ',' || next == '\\') ++at;
    path += value[at];
  }
  return path;
}

// With a backslash before what has a meaning.
void AppendEscaped(char c, std::string* text) {
  if (c == '\n' || c == '\t') {
    *text += c == '\n' ? "\\n" : "\\t";
    return;
  }
  if (c == ':' || c == '=') *text += '\\';
  *text += c;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) || fs::exists(path.string() + ".gz", ignored);
}

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool EndsIn(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// The format whose files the folder holds, or null.
const Format* FormatOfFolder(const std::string& folder) {
  for (const Format& format : Formats()) {
    for (const auto* files : {&format.train_files, &format.test_files}) {
      for (const std::string& file : *files) {
        if (Exists(fs::path(folder) / file)) return &format;
      }
    }
  }
  for (const Format& format : Formats()) {
    if (format.files_in != nullptr && !format.files_in(folder).empty()) return &format;
  }
  return nullptr;
}

const Format* FormatByName(const std::string& name) {
  for (const Format& format : Formats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

const Format* FormatByEnding(const std::string& path) {
  const std::string name = EndsIn(path, ".gz") ? path.substr(0, path.size() - 3) : path;
  for (const Format& format : Formats()) {
    for (const std::string& ending : format.endings) {
      if (EndsIn(name, ending)) return &format;
    }
  }
  return nullptr;
}

// By the first bytes.
const Format* FormatByContent(const std::string& path) {
  ByteFile file(path);
  std::string bytes(8, ' ');
  bytes.resize(file.Read(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()));
  const auto begins = [&](const std::string& with) {
    return bytes.compare(0, with.size(), with) == 0;
  };
  if (begins(std::string("\0\0\x08\x03", 4)) || begins(std::string("\0\0\x08\x01", 4))) {
    return FormatByName("idx");
  }
  if (begins("\x93NUMPY")) return FormatByName("npy");
  if (begins("PK\x03\x04")) return FormatByName("npz");
  if (begins("RIFF") || begins("fLaC") || begins("OggS")) return FormatByName("sound");
  return begins("MATLAB 5") ? FormatByName("svhn") : nullptr;
}

std::string FormatNames() {
  std::string names;
  for (const Format& format : Formats()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return names;
}

// Throws a FileError for a file of another program.
//   begin  its first bytes; empty: its name alone is known
void RequireOwnFile(const DataSource& source, const std::string& begin) {
  const std::string is = ForeignFile(source.path, begin, NamedAs::kSamples);
  if (!is.empty()) throw posix::FileError(fmt::format("{}: {}", source.path, is));
}

// A file may have a name that its contents belie.
void RequireContents(const DataSource& source, const Format& format) {
  if (IsFolder(source.path)) return;
  static_cast<void>(ByteFile(source.path));  // that it can be read at all
  const std::string begin = FirstBytes(source.path);
  const bool is_zip = begin.compare(0, 4, "PK\x03\x04") == 0;
  if (is_zip && std::string(format.name) != "npz") {
    throw posix::FileError(fmt::format(
        "{}: it is a zip archive, as .xlsx, .npz and .pt are; expected {}: save a spreadsheet as "
        "CSV, UTF-8, and name an archive of NumPy .npz",
        source.path, format.what));
  }
  const std::string is = ForeignFile("", begin, NamedAs::kSamples);
  if (!is.empty()) throw posix::FileError(fmt::format("{}: {}", source.path, is));
  std::error_code ignored;
  if (begin.empty() && fs::is_regular_file(source.path, ignored) && fs::is_empty(source.path)) {
    throw posix::FileError(
        fmt::format("{}: the file is empty; write it, or fetch it again", source.path));
  }
}

const Format& FormatOf(const DataSource& source) {
  const auto named = source.options.find("format");
  if (named != source.options.end()) {
    if (const Format* format = FormatByName(named->second)) return *format;
    throw std::invalid_argument(
        fmt::format("{}: format={}: there is no such format; the formats: {}", source.path,
                    named->second, FormatNames()));
  }
  if (IsFolder(source.path)) {
    if (const Format* format = FormatOfFolder(source.path)) return *format;
    std::error_code error;
    static_cast<void>(fs::directory_iterator(source.path, error));
    if (error) {
      throw posix::FileError(
          fmt::format("{}: the folder cannot be opened: {}; check its permissions", source.path,
                      error.message()));
    }
    std::string expected;
    for (const Format& format : Formats()) {
      if (format.files_in != nullptr) {
        expected += fmt::format("{}files in {} ({})", expected.empty() ? "" : ", ",
                                format.endings.front(), format.name);
      }
      if (format.train_files.empty()) continue;
      expected += fmt::format("{}{} ({})", expected.empty() ? "" : ", ", format.train_files.front(),
                              format.name);
    }
    throw posix::FileError(
        fmt::format("{}: this folder holds no data set; expected one with {}; or name a file: "
                    "\"Other formats\" in server/YOUR_DATA.md makes one of a folder of images",
                    source.path, expected));
  }
  if (source.options.count("labels") > 0 && FormatByEnding(source.path) == nullptr) {
    return *FormatByName("idx");
  }
  if (const Format* format = FormatByEnding(source.path)) return *format;
  RequireOwnFile(source, "");
  if (const Format* format = FormatByContent(source.path)) return *format;
  throw std::invalid_argument(
      fmt::format("{}: neither its name nor its first bytes say which format it has; say it, for "
                  "example {}:format=csv; the formats: {}",
                  source.path, source.path, FormatNames()));
}

void RequireOptions(const DataSource& source, const Format& format) {
  for (const auto& [key, value] : source.options) {
    const std::string& name = key;
    const bool is_known =
        name == "format" ||
        std::any_of(format.options.begin(), format.options.end(),
                    [&](const FormatOption& option) { return name == option.key; });
    if (!is_known) {
      std::vector<std::string> known = {"format"};
      for (const FormatOption& option : format.options) known.emplace_back(option.key);
      throw std::invalid_argument(
          fmt::format("{}: {} has no option {}; its options: {}{}", source.path, format.name, name,
                      fmt::join(known, ", "), posix::DidYouMean(name, known)));
    }
    if (value.empty()) {
      throw std::invalid_argument(
          fmt::format("{}: the option {}= has no value", source.path, name));
    }
  }
}

std::vector<std::string> FilesInFolder(const DataSource& source, const Format& format) {
  std::vector<std::string> files = format.files_in(source.path);
  if (!files.empty()) return files;
  throw posix::FileError(
      fmt::format("{}: this folder holds no file of {}; expected one that ends "
                  "in {}",
                  source.path, format.name, fmt::join(format.endings, ", ")));
}

// The files of a source; a folder's files in their order.
std::vector<std::string> FilesOf(const DataSource& source, const Format& format) {
  const auto option = source.options.find("part");
  const std::string part = option == source.options.end() ? "train" : option->second;
  if (part != "train" && part != "test") {
    throw std::invalid_argument(
        fmt::format("{}: part={}: expected train or test", source.path, part));
  }
  const std::vector<std::string>& names = part == "train" ? format.train_files : format.test_files;
  // IMAGES:labels=LABELS is a pair of files.
  const bool is_pair = format.read == ReadIdx && source.options.count("labels") > 0;
  if (IsFolder(source.path) && is_pair) {
    throw std::invalid_argument(
        fmt::format("{}: labels= goes with a file of images, and this is a folder; name the file, "
                    "or leave labels= out",
                    source.path));
  }
  if (IsFolder(source.path) && format.files_in != nullptr) return FilesInFolder(source, format);
  if (!IsFolder(source.path) || names.empty()) {
    if (option == source.options.end()) return {source.path};
    throw std::invalid_argument(fmt::format(
        "{}: part={}: a part is one of a folder, and this is a file", source.path, part));
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string advice =
        fmt::format("of the format {} the folder holds {}, each with or without .gz{}", format.name,
                    fmt::join(names, ", "),
                    std::string(format.name) == "idx" ? ", and the files of their labels" : "");
    files.push_back(FindFile((fs::path(source.path) / name).string(), advice));
  }
  return files;
}

// An option's value as the readers take a text: a comma in it may have a backslash or not.
std::string TextOf(const std::string& value) {
  return fmt::format("{}", fmt::join(SplitList(value), ","));
}

}  // namespace

DataSource ParseDataSource(const std::string& text) {
  size_t at = NextOption(text, 0, ':');
  DataSource source{UnescapedPath(text.substr(0, at - 1))};
  source.text = text;
  if (source.path.empty()) {
    throw std::invalid_argument(fmt::format(
        "\"{}\": expected FILE[:KEY=VALUE,...], for example data.csv:label=activity", text));
  }
  while (at < text.size()) {
    const size_t key = KeyAt(text, at);
    const size_t next = NextOption(text, at, ',');
    const size_t value = at + key + 1;
    const std::string name = text.substr(at, key);
    if (!source.options.emplace(name, Unescaped(text.substr(value, next - 1 - value))).second) {
      throw std::invalid_argument(fmt::format("\"{}\": the option {} comes twice", text, name));
    }
    at = next;
  }
  return source;
}

std::string FormatDataSource(const DataSource& source) {
  std::string text;
  for (const char c : source.path) {
    if (c == '\\' || c == ',') text += '\\';
    AppendEscaped(c, &text);
  }
  bool is_first = true;
  for (const auto& [key, value] : source.options) {
    text += (is_first ? ":" : ",") + key + "=";
    is_first = false;
    for (size_t at = 0; at < value.size(); ++at) {
      // A backslash is there for SplitList(), with the character behind it.
      if (value[at] == '\\') {
        text += '\\';
        text += at + 1 < value.size() ? value[++at] : '\\';
      } else {
        AppendEscaped(value[at], &text);
      }
    }
  }
  return text;
}

void RequireWholeName(const DataSource& source) {
  std::error_code ignored;
  if (source.options.empty() || fs::exists(source.path, ignored) ||
      !fs::exists(source.text, ignored)) {
    return;
  }
  throw std::invalid_argument(
      fmt::format("{}: options begin at a colon and KEY=, so this names the file {}, which is not "
                  "there; for the file of the whole name write a backslash before the colon: {}",
                  source.text, source.path, FormatDataSource({source.text})));
}

std::vector<std::string> SplitList(const std::string& value) {
  std::vector<std::string> names(1);
  for (size_t at = 0; at < value.size(); ++at) {
    if (value[at] == ',') {
      names.emplace_back();
    } else {
      if (value[at] == '\\' && at + 1 < value.size()) ++at;
      names.back() += value[at];
    }
  }
  return names;
}

std::string JoinList(const std::vector<std::string>& names) {
  std::string value;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) value += ',';
    for (const char c : names[i]) {
      if (c == ',' || c == '\\') value += '\\';
      value += c;
    }
  }
  return value;
}

SharedDataset ReadDataset(const DataSource& source, const ModelInfo* model, const Selection& keep) {
  RequireWholeName(source);
  const Format& format = FormatOf(source);
  RequireOptions(source, format);
  if (format.read == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: this program was built without {}, which reads {}; install {}-dev and "
                    "build it again, or convert the file to .npy or LIBSVM (sotto-client never has "
                    "libmatio)",
                    source.path, format.library, format.name, format.library));
  }
  RequireContents(source, format);
  return format.read({source, FilesOf(source, format), model, keep});
}

size_t CountSamples(const DataSource& source, const ModelInfo* model) {
  size_t count = 0;
  ReadDataset(source, model, [&](size_t) {
    ++count;
    return false;
  });
  return count;
}

DataSource InFolder(DataSource source, const std::string& folder) {
  source.path = (fs::path(folder) / source.path).string();
  for (auto& [key, value] : source.options) {
    const std::string path = (fs::path(folder) / TextOf(value)).string();
    std::error_code ignored;
    const bool is_file =
        fs::is_regular_file(path, ignored) || fs::is_regular_file(path + ".gz", ignored);
    if (is_file) value = JoinList({path});
  }
  source.text = FormatDataSource(source);
  return source;
}

std::vector<std::string> FilesIn(const DataSource& source) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& path) {
    std::error_code ignored;
    for (const char* suffix : {"", ".gz"}) {
      if (fs::is_regular_file(path + suffix, ignored)) return files.push_back(path + suffix);
    }
  };
  // A file of images may have its labels in a second one.
  const auto add_pair = [&](const std::string& path) {
    constexpr char kImages[] = "images-idx3";
    add(path);
    const size_t at = path.rfind(kImages);
    if (at == std::string::npos) return;
    std::string labels = path;
    add(labels.replace(at, sizeof(kImages) - 1, "labels-idx1"));
  };
  const Format* format = IsFolder(source.path) ? FormatOfFolder(source.path) : nullptr;
  if (format == nullptr) add_pair(source.path);
  if (format != nullptr && format->files_in != nullptr) files = format->files_in(source.path);
  if (format != nullptr) {
    for (const auto* names : {&format->train_files, &format->test_files}) {
      for (const std::string& name : *names) add_pair((fs::path(source.path) / name).string());
    }
  }
  for (const auto& [key, value] : source.options) add(TextOf(value));
  return files;
}

bool IsDataFolder(const std::string& path) {
  if (!IsFolder(path)) return false;
  const Format* const format = FormatOfFolder(path);
  return format != nullptr && !format->train_files.empty();
}

}  // namespace sotto
