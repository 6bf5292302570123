// NPY, one array, and NPZ, a zip archive of arrays.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <memory>
#include <stdexcept>
#include <zip.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "export/writers.h"

namespace sotto::server {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kMarkSize = 6;    // of the magic, without the version
constexpr size_t kAlignment = 64;  // of the numbers
constexpr std::string_view kEnding = ".npy";
constexpr uint64_t kMaxMember = uint64_t{1} << 27;  // bytes; a model has at most 64 MB

[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument(why); }

// "(16, 6, 5, 5)", "(10,)", "()"
std::string ShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string NpyOf(const Tensor& tensor) {
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}",
                                   ShapeText(tensor.shape));
  const size_t length = kMagic.size() + 2 + header.size() + 1;
  header.append((kAlignment - length % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  AppendFloats(tensor.values, &file);
  return file;
}

// The text behind "'key':", without spaces.
std::string_view ValueIn(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) Refuse(fmt::format("its header has no {}", key));
  std::string_view rest = header.substr(at + key.size());
  const size_t begin = rest.find_first_not_of(": ");
  return begin == std::string_view::npos ? "" : rest.substr(begin);
}

std::vector<uint64_t> ShapeIn(std::string_view header) {
  std::string_view text = ValueIn(header, "'shape'");
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) {
    Refuse("its header has no shape");
  }
  std::vector<uint64_t> shape;
  uint64_t number = 0;
  bool is_inside = false;
  for (const char c : text.substr(1, end)) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + static_cast<uint64_t>(c - '0');
      is_inside = true;
      if (number > std::numeric_limits<uint32_t>::max()) Refuse("its shape is too large");
    } else if (is_inside) {
      shape.push_back(number);
      number = 0;
      is_inside = false;
    }
  }
  return shape;
}

// Length of the header's text, and where the text begins: by the file's version.
std::pair<size_t, size_t> HeaderIn(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, kMarkSize) != kMagic.substr(0, kMarkSize)) {
    Refuse("it is no NPY array");
  }
  const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>(bytes[i])}; };
  const bool is_short = byte(6) == 1;
  const size_t begin = is_short ? 10 : 12;
  const size_t length = byte(8) | byte(9) << 8 | (is_short ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - begin) Refuse("its header is cut off: copy or save it again");
  return {length, begin};
}

Tensor TensorOf(const std::string& name, std::string_view bytes) {
  const auto [length, begin] = HeaderIn(bytes);
  const std::string_view header = bytes.substr(begin, length);
  const std::string_view type = ValueIn(header, "'descr'");
  if (type.substr(0, 5) != "'<f4'") {
    Refuse(fmt::format("its numbers are {}; expected float32, '<f4': array.astype('<f4')",
                       type.substr(0, type.find(','))));
  }
  if (ValueIn(header, "'fortran_order'").substr(0, 5) != "False") {
    Refuse("its order is Fortran's; expected C order: numpy.ascontiguousarray(array)");
  }
  Tensor tensor = {name, ShapeIn(header), {}};
  const std::string_view data = bytes.substr(begin + length);
  uint64_t size = 4;
  for (const uint64_t extent : tensor.shape) {
    size = extent > 0 && size > data.size() / extent ? data.size() + 1 : size * extent;
  }
  if (size != data.size()) {
    Refuse(fmt::format("its shape {} does not fit its {} bytes of numbers: copy or save it again",
                       ShapeText(tensor.shape), data.size()));
  }
  tensor.values = FloatsOf(BytesOf(data));
  return tensor;
}

// libzip's objects.
struct CloseSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Source = std::unique_ptr<zip_source_t, CloseSource>;
using Archive = std::unique_ptr<zip_t, CloseArchive>;

void Require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(fmt::format("libzip failed to {}", what));
}

// An archive in memory. The source stays the caller's, too.
Archive OpenArchive(zip_source_t* source, int flags) {
  zip_error_t error;
  zip_error_init(&error);
  Archive archive(zip_open_from_source(source, flags, &error));
  const std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (archive == nullptr) Refuse(fmt::format("it is no whole zip archive: {}", why));
  zip_source_keep(source);  // zip_close() and zip_discard() free one reference
  return archive;
}

Source MakeSource(const std::string& bytes) {
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  zip_error_fini(&error);
  Require(source != nullptr, "open a buffer");
  return source;
}

// Not compressed: trained parameters do not shrink. The same model gives the same bytes.
void AddMember(zip_t* archive, const std::string& name, const std::string& content) {
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  Require(source != nullptr, "add a tensor");
  const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(source);
  Require(index >= 0, "add a tensor");
  const auto at = static_cast<zip_uint64_t>(index);
  Require(zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) == 0 &&
              zip_file_set_dostime(archive, at, 0, (1 << 5) | 1, 0) == 0,
          "add a tensor");
}

std::string ReadAll(zip_source_t* source) {
  zip_stat_t stat;
  Require(zip_source_open(source) == 0 && zip_source_stat(source, &stat) == 0, "read a buffer");
  std::string bytes(stat.size, '\0');
  const zip_int64_t got = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  Require(got == static_cast<zip_int64_t>(bytes.size()), "read a buffer");
  return bytes;
}

std::string ReadMember(zip_t* archive, zip_uint64_t index, const std::string& name) {
  zip_stat_t stat;
  Require(zip_stat_index(archive, index, 0, &stat) == 0, "look at a tensor");
  if (stat.size > kMaxMember)
    Refuse(fmt::format("{} has {} bytes, more than a model", name, stat.size));
  std::string bytes(stat.size, '\0');
  zip_file_t* file = zip_fopen_index(archive, index, 0);
  const zip_int64_t got = file == nullptr ? -1 : zip_fread(file, bytes.data(), bytes.size());
  const bool is_sound = file != nullptr && zip_fclose(file) == 0;
  if (!is_sound || got != static_cast<zip_int64_t>(bytes.size())) {
    Refuse(fmt::format("{} in it is damaged: copy or save it again", name));
  }
  return bytes;
}

Metadata MetadataIn(zip_t* archive) {
  int length = 0;
  const char* comment = zip_get_archive_comment(archive, &length, ZIP_FL_ENC_RAW);
  Metadata metadata;
  if (comment == nullptr) return metadata;
  const auto json = TryParseJson({comment, static_cast<size_t>(length)});
  if (!json.is_object()) return metadata;  // of another program
  for (const auto& item : json.items()) {
    if (item.value().is_string()) metadata.emplace_back(item.key(), item.value());
  }
  return metadata;
}

}  // namespace

std::string WriteNpy(const TrainedModel& model) {
  const Span<const float> parameters = model.parameters;
  return NpyOf({"", {parameters.size()}, {parameters.begin(), parameters.end()}});
}

ModelContent ReadNpy(const std::string& bytes) { return {{}, {TensorOf("", bytes)}}; }

std::string WriteNpz(const TrainedModel& model) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const Tensor& tensor : ExportTensors(model.info, model.parameters)) {
    members.emplace_back(tensor.name + std::string(kEnding), NpyOf(tensor));
  }
  nlohmann::ordered_json comment = nlohmann::ordered_json::object();
  for (const auto& [name, value] : model.metadata) comment[name] = value;
  const std::string text = JsonText(comment);
  const std::string nothing;
  const Source source = MakeSource(nothing);
  Archive archive = OpenArchive(source.get(), ZIP_CREATE | ZIP_TRUNCATE);
  for (const auto& [name, content] : members) AddMember(archive.get(), name, content);
  Require(zip_set_archive_comment(archive.get(), text.data(),
                                  static_cast<zip_uint16_t>(text.size())) == 0,
          "add metadata");
  Require(zip_close(archive.get()) == 0, "write an archive");
  static_cast<void>(archive.release());
  return ReadAll(source.get());
}

ModelContent ReadNpz(const std::string& bytes) {
  const Source source = MakeSource(bytes);
  const Archive archive = OpenArchive(source.get(), ZIP_RDONLY | ZIP_CHECKCONS);
  ModelContent content;
  content.metadata = MetadataIn(archive.get());
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* found = zip_get_name(archive.get(), i, 0);
    const std::string file = found == nullptr ? "" : found;
    const bool is_array = file.size() > kEnding.size() &&
                          file.compare(file.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
    if (!is_array) Refuse(fmt::format("\"{}\" in it is no array; expected .npy files alone", file));
    const std::string name = file.substr(0, file.size() - kEnding.size());
    try {
      content.tensors.push_back(TensorOf(name, ReadMember(archive.get(), i, file)));
    } catch (const std::invalid_argument& error) {
      Refuse(fmt::format("array {}: {}", name, error.what()));
    }
  }
  return content;
}

}  // namespace sotto::server
