#include "csv_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <stdexcept>
#include <utility>

namespace sotto {
namespace {

constexpr char kMark[] = "\xEF\xBB\xBF";  // of UTF-8

// Without an option.
char UsualSeparator(const std::string& path) {
  if (path.find(".tsv") != std::string::npos) return '\t';
  LineFile file(path);
  std::string line;
  while (file.Next(&line) && line.find_first_not_of(" \r") == std::string::npos) {
  }
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

RowFile::RowFile(const std::string& path, char separator) : lines_(path) {
  if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  csv_set_delim(&parser_, static_cast<unsigned char>(separator));
}

bool RowFile::Next(CsvRow* row) {
  row_ = row;
  row_->clear();
  whole_ = 0;
  while (whole_ == 0 && lines_.Next(&line_)) {
    if (lines_.number() == 1) TakeFirstLine();
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
  return whole_ > 0;
}

// Without the mark that some programs write before UTF-8.
void RowFile::TakeFirstLine() {
  if (line_.compare(0, 3, kMark) == 0) line_.erase(0, 3);
  if (line_.compare(0, 2, "\xFF\xFE") == 0 || line_.compare(0, 2, "\xFE\xFF") == 0) {
    throw Defect("", "the text is UTF-16", "save the file as UTF-8");
  }
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
                 "put the whole field in quotes, and write a quote in it as \"\"; or is the "
                 "separator another one? separator=semicolon");
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
