#include "golden/check.h"
#include "sotto/mps2/semihosting.h"

int main(int, char**) { return sotto::golden::Check(sotto::mps2::Print) ? 0 : 1; }
