// Things that a file names: the columns of a table, the arrays of an archive. Part of sotto::data.
//
// The one place where a name becomes a place. A name that is there twice says nothing, and neither
// does an empty one; both are refused with the list of all names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sotto {

class Named {
 public:
  //   thing  what has the names, for people: "column"
  Named(std::vector<std::string> names, std::string thing);

  const std::vector<std::string>& names() const { return names_; }

  // The place of a name, from 0; nothing if it is not there. Throws std::invalid_argument if it is
  // empty or there more than once.
  std::optional<size_t> Find(const std::string& name) const;

  // Why the name of a place finds nothing: it is empty, or another one has it, too. Empty: it does.
  std::string FaultOf(size_t place) const;

  // "the columns: x, y, (no name), label"; of many the first ones.
  std::string List() const;

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Places {
    size_t first = 0;
    size_t second = kNone;
  };

  std::vector<std::string> names_;
  std::string thing_;
  std::unordered_map<std::string, Places> places_;
};

}  // namespace sotto
