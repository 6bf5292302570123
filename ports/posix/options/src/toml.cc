// The one file that includes toml++, whose header is heavy. The compiled library is one with
// exceptions, which is its default: without them its functions have other names for the linker.
#include "sotto/options/toml.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <stdexcept>
#include <utility>

// Where the header is the library: "[&" breaks an assertion of toml++ 3.3 and 3.4, which is wrong,
// and which the optimiser would otherwise rely on. The code behind it refuses the key.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace sotto::posix {
namespace {

using Names = std::vector<std::string>;
using Position = toml::source_position;  // line and column, both from 1

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kAroundWords = " \t\r\n\"'[]{},=#";
constexpr size_t kMostNames = 32;  // of a key with its sections

[[noreturn]] void Refuse(const Position& at, const std::string& why) {
  throw TomlError(static_cast<int>(at.line), static_cast<int>(at.column), why);
}

std::string Joined(const Names& names) { return fmt::format("{}", fmt::join(names, ".")); }

bool IsInName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

// toml++ 3.3 follows the names of a.b.c by recursion without a limit: a line of thousands of them
// would overflow the stack.
void RequireShortNames(std::string_view text) {
  Position at = {1, 0};
  size_t dots = 0;  // each behind a name
  char last = ' ';
  for (const char c : text) {
    at = c == '\n' ? Position{at.line + 1, 0} : Position{at.line, at.column + 1};
    if (c == ' ' || c == '\t') continue;
    if (c == '.') {
      dots = IsInName(last) ? dots + 1 : 0;
      if (dots == kMostNames) Refuse(at, fmt::format("more than {} names in a row", kMostNames));
    } else if (!IsInName(c)) {
      dots = 0;
    }
    last = c;
  }
}

// Part of a text, up to one of these characters.
std::string_view Until(std::string_view text, std::string_view characters) {
  return text.substr(0, text.find_first_of(characters));
}

uint32_t Indent(std::string_view line) {
  return static_cast<uint32_t>(std::min(line.find_first_not_of(" \t"), line.size()));
}

// A document whose places are known.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text), lines_{0} {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  std::string_view text() const { return text_; }
  std::string_view Before(uint32_t line) const { return text_.substr(0, lines_[line - 1]); }
  std::string_view Line(uint32_t line) const {
    return Until(text_.substr(lines_[line - 1]), "\r\n");
  }

  // In bytes. toml++ counts characters.
  size_t OffsetOf(const Position& at) const {
    size_t offset = lines_[at.line - 1];
    for (uint32_t column = 1; column < at.column && offset < text_.size(); ++column) {
      do {
        ++offset;
      } while (offset < text_.size() && (text_[offset] & 0xC0) == 0x80);
    }
    return offset;
  }

 private:
  std::string_view text_;
  std::vector<size_t> lines_;  // where each begins
};

std::optional<toml::table> TryParse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

// What toml++ says against a text, without "Error while parsing ".
std::string ReasonOf(const toml::parse_error& error) {
  constexpr std::string_view kBegin = "Error while parsing ";
  const std::string_view text = error.description();
  return std::string(text.substr(0, kBegin.size()) == kBegin ? text.substr(kBegin.size()) : text);
}

// A word without quotes, such as gau-lrq in mechanism = gau-lrq.
struct Word {
  std::string_view text;
  Position at;
};

// The word at a place, or the one that ends there.
Word WordAt(const Source& source, const Position& at) {
  const std::string_view text = source.text();
  size_t begin = source.OffsetOf(at);
  uint32_t characters = 0;
  while (begin > 0 && kAroundWords.find(text[begin - 1]) == kAroundWords.npos) {
    --begin;
    if ((text[begin] & 0xC0) != 0x80) ++characters;
  }
  return {Until(text.substr(begin), kAroundWords), {at.line, at.column - characters}};
}

// Whether the word stands where a value does, and the document is TOML up to behind it once it has
// quotes.
bool QuotesMend(const Source& source, const Word& word) {
  constexpr std::string_view kBeforeValues = "=[,";
  const size_t begin = source.OffsetOf(word.at);
  const size_t before = source.text().substr(0, begin).find_last_not_of(" \t\r\n");
  if (word.text.empty() || before == std::string_view::npos ||
      kBeforeValues.find(source.text()[before]) == std::string_view::npos) {
    return false;
  }
  std::string mended(source.text());
  mended.insert(begin + word.text.size(), "\"").insert(begin, "\"");
  try {
    (void)toml::parse(mended);
    return true;
  } catch (const toml::parse_error& error) {
    const size_t next = Source(mended).OffsetOf(error.source().begin);
    return next > begin + word.text.size() + 2 && next < mended.size();
  }
}

// The table of a node, or the last one of [[section]].
const toml::table* TableOf(const toml::node& node) {
  const toml::array* const array = node.as_array();
  return array != nullptr && !array->empty() ? array->back().as_table() : node.as_table();
}

// A document that sets what the line sets, and nothing else: with the header of its section.
std::optional<toml::table> Alone(const Source& source, uint32_t number) {
  const auto is_header = [&source](uint32_t line) {
    const std::string_view text = source.Line(line);
    return text.substr(Indent(text), 1) == "[" && TryParse(text).has_value();
  };
  if (is_header(number)) return TryParse(source.Line(number));
  const std::string setting = std::string(Until(source.Line(number), "=")) + "= 0";
  uint32_t header = number - 1;
  while (header > 0 && !is_header(header)) --header;
  if (header == 0) return TryParse(setting);
  return TryParse(fmt::format("{}\n{}", source.Line(header), setting));
}

// "x.a comes twice, in line 1 and here", or an empty text if that is not what is wrong with the
// line.
std::string Repetition(const Source& source, uint32_t line) {
  const std::optional<toml::table> before = TryParse(source.Before(line));
  const std::optional<toml::table> again = Alone(source, line);
  if (!before || !again) return "";
  const toml::table* there = &*before;
  const toml::table* here = &*again;
  const toml::node* first = nullptr;
  Names names;
  while (there != nullptr && here != nullptr && here->size() == 1) {
    const auto [key, value] = *here->begin();  // two references
    const toml::node* const found = there->get(key.str());
    if (found == nullptr) break;
    first = found;
    names.emplace_back(key.str());
    there = TableOf(*found);
    here = TableOf(value);
  }
  if (first == nullptr) return "";
  return fmt::format("{} comes twice, in line {} and here; take one out", Joined(names),
                     first->source().begin.line);
}

// For messages: without what surrounds it, and short.
std::string Shown(std::string_view line) {
  constexpr size_t kMostBytes = 60;
  line.remove_prefix(Indent(line));
  if (line.size() <= kMostBytes) return std::string(line);
  size_t bytes = kMostBytes;
  while ((line[bytes] & 0xC0) == 0x80) --bytes;
  return std::string(line.substr(0, bytes)) + "...";
}

[[noreturn]] void Refuse(const Source& source, const toml::parse_error& error) {
  const Position at = error.source().begin;
  const std::string reason = ReasonOf(error);
  if (reason.find("utf-8") != reason.npos) Refuse(at, "the file is no UTF-8; save it as UTF-8");
  const std::string_view line = source.Line(at.line);
  if (reason.find("redefine") != reason.npos) {
    const std::string repetition = Repetition(source, at.line);
    if (!repetition.empty()) Refuse({at.line, Indent(line) + 1}, repetition);
  }
  const Word word = WordAt(source, at);
  if (reason.find("escape sequence") != reason.npos) {
    Refuse(at,
           fmt::format("{}, in: {}; write \\\\ for a backslash, or put the text in single quotes",
                       reason, Shown(line)));
  }
  if (line.find("\xE2\x80\x9C") != line.npos || line.find("\xE2\x80\x9D") != line.npos) {
    Refuse(at, fmt::format("typographic quotes, in: {}; write \" for them", Shown(line)));
  }
  if (!QuotesMend(source, word)) Refuse(at, fmt::format("{}, in: {}", reason, Shown(line)));
  // Behind what was being read: "value: could not determine value type".
  const size_t colon = reason.find(": ");
  Refuse(word.at, fmt::format("{}: {}; put a text in quotes: \"{}\"", Shown(line),
                              reason.substr(colon == reason.npos ? 0 : colon + 2), word.text));
}

toml::table Parse(const Source& source) {
  RequireShortNames(source.text());
  try {
    return toml::parse(source.text());
  } catch (const toml::parse_error& error) {
    Refuse(source, error);
  }
}

// Lists the settings of a document.
class Lister {
 public:
  Lister(const Source& source, TomlArrays arrays) : source_(source), arrays_(arrays) {}

  std::vector<Setting> List(const toml::table& document) {
    AddTable(document, 0);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.at < b.at; });
    std::vector<Setting> settings;
    for (Found& found : found_) settings.push_back(std::move(found.setting));
    return settings;
  }

 private:
  struct Found {
    Position at;
    Setting setting;
  };

  void AddTable(const toml::table& table, size_t entry) {
    for (const auto& [key, node] : table) {
      const Position at = key.source().begin;
      RequireName(at, std::string(key.str()));
      names_.emplace_back(key.str());
      if (names_.size() > kMostNames) Refuse(at, fmt::format("more than {} names", kMostNames));
      AddNode(at, node, entry);
      names_.pop_back();
    }
  }

  void AddNode(const Position& at, const toml::node& node, size_t entry) {
    if (const toml::table* const table = node.as_table()) {
      if (table->is_inline() && table->empty()) Refuse(at, Joined(names_) + " has no value");
      return AddTable(*table, entry);
    }
    if (node.is_array_of_tables()) return AddEntries(at, *node.as_array());
    Setting setting = Begin(at, entry);
    setting.section.pop_back();
    setting.key = names_.back();
    if (const toml::array* const array = node.as_array()) {
      SetItems(at, *array, &setting);
    } else {
      setting.kind = KindOf(node);
      setting.value = ValueOf(node);
    }
    found_.push_back({at, std::move(setting)});
  }

  void AddEntries(const Position& at, const toml::array& tables) {
    if (arrays_ == TomlArrays::kRefused) {
      Refuse(at, fmt::format("[[{}]]: arrays of sections have no meaning here", Joined(names_)));
    }
    for (size_t i = 0; i < tables.size(); ++i) {
      const Position begin = tables[i].source().begin;
      found_.push_back({begin, Begin(begin, i + 1)});
      found_.back().setting.kind = Setting::Kind::kEntry;
      AddTable(*tables[i].as_table(), i + 1);
    }
  }

  void SetItems(const Position& at, const toml::array& array, Setting* setting) const {
    if (arrays_ == TomlArrays::kRefused) {
      Refuse(at, Joined(names_) + " has an array where one value is expected");
    }
    setting->kind = Setting::Kind::kArray;
    for (const toml::node& item : array) {
      const bool is_text = item.is_string();
      if (setting->items.empty() && is_text) setting->kind = Setting::Kind::kTexts;
      if (is_text != (setting->kind == Setting::Kind::kTexts) || item.is_array() ||
          item.is_table()) {
        Refuse(
            item.source().begin,
            fmt::format("{}: an array holds numbers, for example [28, 28, 1], or texts, not both",
                        Joined(names_)));
      }
      setting->items.push_back(ValueOf(item));
    }
  }

  Setting Begin(const Position& at, size_t entry) const {
    Setting setting;
    setting.section = names_;
    setting.line = static_cast<int>(at.line);
    setting.entry = entry;
    return setting;
  }

  Setting::Kind KindOf(const toml::node& node) const {
    if (node.is_string()) return Setting::Kind::kText;
    if (node.is_integer()) return Setting::Kind::kInteger;
    return node.is_boolean() ? Setting::Kind::kBoolean : Setting::Kind::kReal;
  }

  std::string ValueOf(const toml::node& node) const {
    const Position at = node.source().begin;
    if (node.is_string()) return RequireText(at, **node.as_string());
    if (node.is_integer()) return fmt::format("{}", **node.as_integer());
    if (node.is_boolean()) return **node.as_boolean() ? "true" : "false";
    if (node.is_floating_point()) return RealAt(at);
    Refuse(at, Joined(names_) + " has a date or a time; put a text in quotes");
  }

  // As the file has it: 4e-5 stays 4e-5.
  std::string RealAt(const Position& at) const {
    std::string text(Until(source_.text().substr(source_.OffsetOf(at)), kAroundWords));
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    if (text.front() == '+') text.erase(0, 1);
    return text;
  }

  // C functions would end a text there.
  std::string RequireText(const Position& at, const std::string& text) const {
    if (text.find('\0') == text.npos) return text;
    Refuse(at, Joined(names_) + " has the character U+0000, which no text here may have");
  }

  static void RequireName(const Position& at, const std::string& name) {
    if (name.empty()) Refuse(at, "a name is empty");
    if (name.find('\0') != name.npos) Refuse(at, "a name has the character U+0000");
  }

  const Source& source_;
  TomlArrays arrays_;
  Names names_;  // of what is visited, from the outside in
  std::vector<Found> found_;
};

}  // namespace

TomlError::TomlError(int line, int column, const std::string& why)
    : std::invalid_argument(fmt::format("line {}, column {}: {}", line, column, why)),
      line_(line),
      column_(column),
      why_(why) {}

std::string TomlError::In(const std::string& path) const {
  return fmt::format("{}:{}:{}: {}", path, line_, column_, why_);
}

std::string FullName(const Setting& setting) {
  Names names = setting.section;
  names.push_back(setting.key);
  return Joined(names);
}

std::vector<Setting> ParseToml(std::string_view text, TomlArrays arrays) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const Source source(text);
  return Lister(source, arrays).List(Parse(source));
}

}  // namespace sotto::posix
