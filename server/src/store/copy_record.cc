#include "store/copy_record.h"

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>

#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

// By whatever name the store is called.
std::string PathBeside(const std::string& store) {
  return std::filesystem::weakly_canonical(store).string() + ".copied";
}

}  // namespace

void WriteCopyRecord(const std::string& store, const CopyRecord& record) {
  posix::ReplaceTextFile(PathBeside(store), fmt::format("sotto-copied 1\nattempts {}\nmade {}\n",
                                                        record.attempts, record.made));
}

std::optional<CopyRecord> ReadCopyRecord(const std::string& store) {
  try {
    const std::optional<std::string> text = posix::ReadTextFile(PathBeside(store));
    CopyRecord record;
    const bool is_read =
        text && std::sscanf(text->c_str(), "sotto-copied 1\nattempts %" SCNd64 "\nmade %" SCNd64,
                            &record.attempts, &record.made) == 2;
    return is_read && record.attempts >= 0 ? std::make_optional(record) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace sotto::server
