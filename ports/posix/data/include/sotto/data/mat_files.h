// MATLAB files among the formats of samples: the library sotto::mat_files, for programs that
// link libmatio. Part of sotto::data.
#pragma once

namespace sotto {

// ReadDataset() reads MATLAB files from now on, if this was built with libmatio. A program calls it
// first of all: it is not safe while another thread reads.
void AddMatFiles();

}  // namespace sotto
