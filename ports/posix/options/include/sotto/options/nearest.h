// The name that somebody probably meant. Part of sotto::options.
//
// Pure functions, safe in any thread.
#pragma once

#include <string>
#include <vector>

namespace sotto::posix {

// The least number of characters to insert, delete, replace or exchange with their neighbour that
// turns one text into the other.
size_t EditDistance(const std::string& a, const std::string& b);

// The name nearest to `text`: one that begins with it (of three characters or more), or else the
// one of least distance, if that is at most 2 or a third of the name's length, and less than the
// text's length. Of several the first. Empty if none is near.
std::string NearestName(const std::string& text, const std::vector<std::string>& names);

// "; did you mean NAME?" with the nearest name behind `prefix`, or nothing.
std::string DidYouMean(const std::string& text, const std::vector<std::string>& names,
                       const std::string& prefix = "");

}  // namespace sotto::posix
