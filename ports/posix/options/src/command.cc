#include "sotto/options/command.h"

#include <algorithm>
#include <string_view>

namespace sotto::posix {

Pick AllRows() {
  return [](const FieldText&) { return true; };
}

Pick InGroup(const char* group) {
  return [group = std::string_view(group)](const FieldText& row) { return row.group == group; };
}

Pick Without(std::vector<std::string> names) {
  return [names = std::move(names)](const FieldText& row) {
    return std::find(names.begin(), names.end(), row.name) == names.end();
  };
}

Pick Both(Pick a, Pick b) {
  return [a = std::move(a), b = std::move(b)](const FieldText& row) { return a(row) && b(row); };
}

FieldText SettingsFileRow() {
  FieldText row;
  row.name = "config";
  row.help = "TOML file with the command's options, each under its name";
  return row;
}

}  // namespace sotto::posix
