#include "csv_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <stdexcept>
#include <utility>

namespace sotto {
namespace {

// The separator that a first line sep=; says, with or without quotes; 0: it is no such line.
char SeparatorIn(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() > 2 && line.front() == '"' && line.back() == '"') {
    line = line.substr(1, line.size() - 2);
  }
  return line.size() == 5 && line.substr(0, 4) == "sep=" ? line[4] : '\0';
}

// Without an option.
char UsualSeparator(const std::string& path) {
  LineFile file(path, LineFile::Returns::kKept);
  std::string line;
  while (file.Next(&line) && line.find_first_not_of(" \r") == std::string::npos) {
  }
  const char said = file.number() == 1 ? SeparatorIn(line) : '\0';
  if (said != 0) return said;
  if (path.find(".tsv") != std::string::npos) return '\t';
  const auto count = [&line](char separator) {
    bool is_quoted = false;
    return std::count_if(line.begin(), line.end(), [&](char c) {
      is_quoted = is_quoted != (c == '"');
      return c == separator && !is_quoted;
    });
  };
  char best = ',';
  for (const char separator : {';', '\t', '|'}) {
    if (count(separator) > count(best)) best = separator;
  }
  return best;
}

}  // namespace

RowFile::RowFile(const std::string& path, char separator) : lines_(path, LineFile::Returns::kKept) {
  if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  csv_set_delim(&parser_, static_cast<unsigned char>(separator));
}

std::unique_ptr<RowSource> RowFile::Open(const ReadRequest& request,
                                         const std::string& path) const {
  return std::make_unique<RowFile>(path, SeparatorOf(request, path));
}

bool RowFile::Next(CsvRow* row) {
  row_ = row;
  row_->clear();
  whole_ = 0;
  while (whole_ == 0 && lines_.Next(&line_)) {
    if (lines_.number() == 1 && SeparatorIn(line_) != 0) continue;
    line_ += '\n';
    bytes_ += line_.size();
    if (csv_parse(&parser_, line_.data(), line_.size(), OnField, OnRow, this) != line_.size()) {
      Refuse();
    }
    if (whole_ > 1) {
      throw Defect("", "lines end with a carriage return alone",
                   "end them with a line feed: tr '\\r' '\\n' < OLD > NEW");
    }
    if (bytes_ > LineFile::kMaxLine) {
      throw Defect("", "the row is too long", "a quote may be missing in a line above");
    }
  }
  if (whole_ == 0 && csv_fini(&parser_, OnField, OnRow, this) != 0) {
    throw Defect("", "the file ends within a quoted field", "end the field with \"");
  }
  if (failure_) std::rethrow_exception(failure_);
  bytes_ = 0;
  if (whole_ > 0 && !is_begun_) RequireNoComment();
  is_begun_ = is_begun_ || whole_ > 0;
  return whole_ > 0;
}

// A first row of one field, or one that begins with "# ", is no header.
void RowFile::RequireNoComment() const {
  const std::string_view first = row_->size() > 0 ? (*row_)[0] : std::string_view();
  if (first.substr(0, 1) != "#") return;
  const bool is_comment = row_->size() == 1 || first.size() == 1 || first[1] == ' ' ||
                          first[1] == '#' || first[1] == '\t';
  if (!is_comment) return;
  throw Defect("", "a comment, which CSV does not have",
               "take the lines that begin with # out: grep -v '^#' OLD > NEW; or if it names the "
               "columns, take the # away");
}

// C code calls these two: they must not throw.
void RowFile::OnField(void* text, size_t size, void* context) {
  auto* self = static_cast<RowFile*>(context);
  try {
    self->row_->Add(static_cast<const char*>(text), size);
  } catch (...) {
    self->failure_ = std::current_exception();
  }
}

void RowFile::OnRow(int, void* context) { ++static_cast<RowFile*>(context)->whole_; }

void RowFile::Refuse() const {
  if (csv_error(&parser_) == CSV_EPARSE) {
    throw Defect(fmt::format("column {}", row_->size() + 1), "a quote stands within a field",
                 "put the whole field in quotes, and write a quote in it as \"\"; or name the "
                 "separator, for example separator=semicolon");
  }
  throw std::bad_alloc();
}

char SeparatorOf(const ReadRequest& request, const std::string& path) {
  if (!request.Has("separator")) return UsualSeparator(path);
  const std::string text = request.Text("separator");
  for (const auto& [name, separator] : {std::pair<const char*, char>{"comma", ','},
                                        {"semicolon", ';'},
                                        {"tab", '\t'},
                                        {"space", ' '},
                                        {"bar", '|'}}) {
    if (text == name) return separator;
  }
  if (text.size() == 1 && text[0] != '"' && text[0] != '\n') return text[0];
  throw std::invalid_argument(
      fmt::format("{}: separator={}: expected comma, semicolon, tab, space, bar, or one character",
                  request.path(), text));
}

}  // namespace sotto
