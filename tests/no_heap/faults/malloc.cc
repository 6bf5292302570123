#include <cstdlib>

void* volatile kept;

int main(int argc, char**) {
  kept = std::malloc(static_cast<size_t>(argc) + 8);
  return 0;
}
