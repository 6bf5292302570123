// A request for memory ends the program, with a status that says how the code asked; no_heap.sh has
// the statuses.
#include <cstddef>
#include <new>

#include "sotto/emulated/semihosting.h"

namespace {

[[noreturn]] void End(const char* how, int status) {
  sotto::emulated::Print(how);
  sotto::emulated::Print(" asks for memory\n");
  sotto::emulated::Exit(status);
}

}  // namespace

extern "C" {

void* malloc(size_t) { End("malloc", 91); }
void* calloc(size_t, size_t) { End("calloc", 91); }
void* realloc(void*, size_t) { End("realloc", 91); }
void free(void*) {}  // of null, from code that is not reached
void* _sbrk(ptrdiff_t) { End("_sbrk", 93); }
void SottoEigenFailed() { End("Eigen", 94); }
}

void* operator new(size_t) { End("new", 92); }
void* operator new[](size_t) { End("new[]", 92); }
