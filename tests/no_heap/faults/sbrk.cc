// The C library's own allocator, past malloc().
#include <cstdlib>
#include <reent.h>

void* volatile kept;

int main(int argc, char**) {
  kept = _malloc_r(_REENT, static_cast<size_t>(argc) + 8);
  return 0;
}
