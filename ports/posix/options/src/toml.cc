#include "sotto/options/toml.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace sotto::posix {
namespace {

constexpr std::string_view kSpace = " \t\r";

// One line, read from the front.
class Line {
 public:
  Line(std::string_view text, int number) : rest_(text), number_(number) { SkipSpace(); }

  [[noreturn]] void Refuse(const std::string& why) const { throw TomlError(number_, why); }

  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    SkipSpace();
    return true;
  }

  bool is_at_end() const { return rest_.empty() || rest_.front() == '#'; }

  void ExpectEnd(const std::string& after) const {
    if (!is_at_end()) Refuse(fmt::format("{} is followed by {}", after, rest_));
  }

  // "a" or "a.b"
  std::vector<std::string> TakeNames() {
    std::vector<std::string> names;
    do {
      const std::string_view name = TakeWhile([](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
      });
      if (name.empty()) Refuse("expected KEY = VALUE or [SECTION]");
      names.emplace_back(name);
    } while (Take('.'));
    return names;
  }

  std::string TakeValue(const std::string& key) {
    if (is_at_end()) Refuse(key + " has no value");
    if (is_at_string()) return TakeString(key);
    if (rest_.front() == '[') Refuse(key + " has an array where one value is expected");
    if (rest_.front() == '{') Refuse(key + " has a table where one value is expected");
    return TakeWord();
  }

  bool is_at_string() const {
    return !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'');
  }

  // What follows [, with the ]. *kind is then kArray or kTexts.
  std::vector<std::string> TakeItems(const std::string& key, Setting::Kind* kind) {
    std::vector<std::string> items;
    while (!Take(']')) {
      if (is_at_end()) Refuse(key + " has no closing ] on its line");
      const bool is_text = is_at_string();
      if (items.empty() && is_text) *kind = Setting::Kind::kTexts;
      if (is_text != (*kind == Setting::Kind::kTexts)) {
        Refuse(key + ": an array holds numbers, or texts in quotes, not both");
      }
      items.push_back(is_text ? TakeString(key) : TakeWord());
      if (!is_text && items.back().empty()) {
        Refuse(key + ": an array holds numbers, for example [28, 28, 1], or texts in quotes");
      }
      if (!Take(',') && !is_at_end() && rest_.front() != ']') {
        Refuse(fmt::format("{}: expected , or ] before {}", key, rest_));
      }
    }
    return items;
  }

  int number() const { return number_; }

 private:
  void SkipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size())); }

  template <class Belongs>
  std::string_view TakeWhile(Belongs belongs) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), belongs);
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    SkipSpace();
    return taken;
  }

  std::string TakeWord() {
    return std::string(TakeWhile([](char c) {
      return std::string_view(" \t\r#\"'[]{},=").find(c) == std::string_view::npos;
    }));
  }

  std::string TakeString(const std::string& key) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_.front() != quote) {
      const bool is_escape = quote == '"' && rest_.front() == '\\';
      if (is_escape) rest_.remove_prefix(1);
      if (!rest_.empty()) text += is_escape ? Unescape(key, rest_.front()) : rest_.front();
      if (!rest_.empty()) rest_.remove_prefix(1);
    }
    if (!Take(quote)) Refuse(fmt::format("{} has no closing {}", key, quote));
    return text;
  }

  char Unescape(const std::string& key, char c) const {
    constexpr std::string_view kEscapes = "\"\\tn";
    const size_t which = kEscapes.find(c);
    if (which == std::string_view::npos) Refuse(fmt::format("{}: unknown escape \\{}", key, c));
    return "\"\\\t\n"[which];
  }

  std::string_view rest_;
  int number_;
};

// [section] or [[section]], after its first [.
struct Header {
  std::vector<std::string> names;
  bool is_entry = false;
  std::string text;
};

Header ParseHeader(Line& line, TomlArrays arrays) {
  Header header;
  header.is_entry = line.Take('[');
  if (header.is_entry && arrays == TomlArrays::kRefused) {
    line.Refuse("arrays of sections have no meaning here");
  }
  header.names = line.TakeNames();
  header.text = fmt::format(header.is_entry ? "[[{}]]" : "[{}]", fmt::join(header.names, "."));
  if (!line.Take(']') || (header.is_entry && !line.Take(']'))) {
    line.Refuse(header.text + " has no closing ]");
  }
  line.ExpectEnd(header.text);
  return header;
}

Setting ParseSetting(Line& line, const std::vector<std::string>& section, TomlArrays arrays) {
  Setting setting;
  setting.section = section;
  setting.line = line.number();
  std::vector<std::string> names = line.TakeNames();
  setting.key = names.back();
  names.pop_back();
  setting.section.insert(setting.section.end(), names.begin(), names.end());
  const std::string name = FullName(setting);
  if (!line.Take('=')) line.Refuse(fmt::format("{}: expected KEY = VALUE", name));
  if (arrays == TomlArrays::kTaken && line.Take('[')) {
    setting.kind = Setting::Kind::kArray;
    setting.items = line.TakeItems(name, &setting.kind);
    line.ExpectEnd("the array of " + name);
    return setting;
  }
  setting.kind = line.is_at_string() ? Setting::Kind::kText : Setting::Kind::kWord;
  setting.value = line.TakeValue(name);
  line.ExpectEnd(fmt::format("{} = {}", name, setting.value));
  return setting;
}

// Reads line by line. What comes twice is refused.
class Parser {
 public:
  explicit Parser(TomlArrays arrays) : arrays_(arrays) {}

  void Read(Line& line) {
    if (line.Take('[')) {
      Enter(line, ParseHeader(line, arrays_));
    } else {
      settings_.push_back(ParseSetting(line, section_, arrays_));
      settings_.back().entry = entry_;
      const std::string name = FullName(settings_.back());
      if (!seen_.emplace(name, entry_).second) line.Refuse(name + " comes twice");
    }
  }

  std::vector<Setting> Finish() { return std::move(settings_); }

 private:
  void Enter(const Line& line, const Header& header) {
    section_ = header.names;
    entry_ = 0;
    // A section is either one or many.
    const auto [found, is_new] = entries_.emplace(fmt::format("{}", fmt::join(section_, ".")), 0);
    size_t& count = found->second;
    if (!is_new && (!header.is_entry || count == 0)) line.Refuse(header.text + " comes twice");
    if (!header.is_entry) return;
    entry_ = ++count;
    Setting begin;
    begin.section = section_;
    begin.line = line.number();
    begin.kind = Setting::Kind::kEntry;
    begin.entry = entry_;
    settings_.push_back(begin);
  }

  TomlArrays arrays_;
  std::vector<std::string> section_;
  size_t entry_ = 0;
  std::vector<Setting> settings_;
  std::map<std::string, size_t> entries_;          // sections, with how many of [[section]]
  std::set<std::pair<std::string, size_t>> seen_;  // settings, with their entry
};

}  // namespace

TomlError::TomlError(int line, const std::string& why)
    : std::invalid_argument(fmt::format("line {}: {}", line, why)), line_(line), why_(why) {}

std::string FullName(const Setting& setting) {
  std::vector<std::string> names = setting.section;
  names.push_back(setting.key);
  return fmt::format("{}", fmt::join(names, "."));
}

std::vector<Setting> ParseToml(std::string_view text, TomlArrays arrays) {
  Parser parser(arrays);
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.is_at_end()) parser.Read(line);
  }
  return parser.Finish();
}

}  // namespace sotto::posix
