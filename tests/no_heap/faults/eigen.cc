// A product of matrices whose sizes the compiler does not know: Eigen packs them into memory that
// it allocates.
#include <Eigen/Core>

constexpr int kSize = 24;
float a[kSize * kSize];
float b[kSize * kSize];
float product[kSize * kSize];
volatile int size = kSize;

int main(int, char**) {
  using Matrix = Eigen::Map<Eigen::MatrixXf>;
  Matrix(product, size, size).noalias() = Matrix(a, size, size) * Matrix(b, size, size);
  return 0;
}
