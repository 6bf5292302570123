// Files of other programs that people name by mistake: one table of their kinds, with advice.
// Part of sotto::data.
//
// Stateless; safe in any thread.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

// For what a file was named.
enum class NamedAs { kSamples, kModel };

// "it is a file of PyTorch; write ...", or empty if no row of the table fits.
//   path   its name
//   begin  its first bytes, 16 or all; may be empty: then the name alone counts
std::string ForeignFile(const std::string& path, std::string_view begin, NamedAs use);

// The first 16 bytes of a file, unpacked if gzip compressed it; fewer if it has no more. Empty if
// it cannot be read.
std::string FirstBytes(const std::string& path);

}  // namespace sotto
