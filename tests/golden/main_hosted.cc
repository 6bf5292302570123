// usage: golden            compares; exit status 1 at a difference
//        golden --print    writes golden_values.inc anew to standard output
#include <cstdio>
#include <cstring>

#include "golden/check.h"
#include "golden/print.h"

int main(int argc, char** argv) {
  const auto print = [](const char* text) { std::fputs(text, stdout); };
  if (argc == 1) return sotto::golden::Check(print) ? 0 : 1;
  if (argc == 2 && std::strcmp(argv[1], "--print") == 0) return sotto::golden::Print() ? 0 : 1;
  std::fputs("usage: golden [--print]\n", stderr);
  return 2;
}
