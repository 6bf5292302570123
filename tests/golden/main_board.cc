#include "golden/check.h"
#include "sotto/emulated/semihosting.h"

int main(int, char**) { return sotto::golden::Check(sotto::emulated::Print) ? 0 : 1; }
