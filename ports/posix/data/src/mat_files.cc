#include "sotto/data/mat_files.h"

#include "formats.h"

namespace sotto {

void AddMatFiles() {
#if defined(SOTTO_HAS_MAT)
  SetReader("svhn", ReadSvhn);
#endif
}

}  // namespace sotto
