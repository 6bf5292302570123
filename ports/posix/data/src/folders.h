// The files of data sets that are folders. Part of sotto::data.
//
// They are sorted by the bytes of their names, so the order of a file system says nothing. Folders
// and files whose names begin with a dot are left out. A folder that cannot be opened has no files.
// Stateless; safe in any thread.
#pragma once

#include <string>
#include <vector>

namespace sotto {

// FOLDER/NAME.json, also with .gz.
std::vector<std::string> JsonFilesIn(const std::string& folder);

// The endings of recordings, in small letters; a file may have them in capitals.
const std::vector<std::string>& SoundEndings();
// All recordings in the folder, and in folders of it up to three deep.
std::vector<std::string> SoundFilesIn(const std::string& folder);

}  // namespace sotto
