int* volatile kept;

int main(int argc, char**) {
  kept = new int[static_cast<unsigned>(argc) + 2];
  return 0;
}
