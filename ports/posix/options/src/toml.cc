#include "sotto/options/toml.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <stdexcept>

namespace sotto::posix {
namespace {

constexpr std::string_view kSpace = " \t\r";

// One line, read from the front.
class Line {
 public:
  Line(std::string_view text, int number) : rest_(text), number_(number) { SkipSpace(); }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw std::invalid_argument(fmt::format("line {}: {}", number_, why));
  }

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
    if (rest_.front() == '"' || rest_.front() == '\'') return TakeString(key);
    if (rest_.front() == '[') Refuse(key + " has an array where one value is expected");
    if (rest_.front() == '{') Refuse(key + " has a table where one value is expected");
    const std::string_view word = TakeWhile([](char c) {
      return std::string_view(" \t\r#\"'[]{},=").find(c) == std::string_view::npos;
    });
    return std::string(word);
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

std::vector<std::string> ParseSection(Line& line) {
  if (line.Take('[')) line.Refuse("arrays of sections have no meaning here");
  const std::vector<std::string> names = line.TakeNames();
  const std::string text = fmt::format("[{}]", fmt::join(names, "."));
  if (!line.Take(']')) line.Refuse(text + " has no closing ]");
  line.ExpectEnd(text);
  return names;
}

Setting ParseSetting(Line& line, const std::vector<std::string>& section) {
  Setting setting{section, "", "", line.number()};
  std::vector<std::string> names = line.TakeNames();
  setting.key = names.back();
  names.pop_back();
  setting.section.insert(setting.section.end(), names.begin(), names.end());
  const std::string name = FullName(setting);
  if (!line.Take('=')) line.Refuse(fmt::format("{}: expected KEY = VALUE", name));
  setting.value = line.TakeValue(name);
  line.ExpectEnd(fmt::format("{} = {}", name, setting.value));
  return setting;
}

}  // namespace

std::string FullName(const Setting& setting) {
  std::vector<std::string> names = setting.section;
  names.push_back(setting.key);
  return fmt::format("{}", fmt::join(names, "."));
}

std::vector<Setting> ParseToml(std::string_view text) {
  std::vector<Setting> settings;
  std::vector<std::string> section;
  std::set<std::string> seen;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.is_at_end()) continue;
    std::string name;
    if (line.Take('[')) {
      section = ParseSection(line);
      name = fmt::format("[{}]", fmt::join(section, "."));
    } else {
      settings.push_back(ParseSetting(line, section));
      name = FullName(settings.back());
    }
    if (!seen.insert(name).second) line.Refuse(name + " comes twice");
  }
  return settings;
}

}  // namespace sotto::posix
