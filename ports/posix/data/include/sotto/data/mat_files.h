// MATLAB files among the formats of samples: the library sotto::mat_files, for programs that
// link libmatio. Part of sotto::data.
#ifndef SOTTO_DATA_MAT_FILES_H_
#define SOTTO_DATA_MAT_FILES_H_

namespace sotto {

// ReadDataset() reads MATLAB files from now on, if this was built with libmatio. A program calls it
// first of all: it is not safe while another thread reads.
void AddMatFiles();

}  // namespace sotto

#endif  // SOTTO_DATA_MAT_FILES_H_
