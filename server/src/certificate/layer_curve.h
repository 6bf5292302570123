// The real functions of a layer, in double. Part of sotto::server/certificate.
//
// r has the chi distribution with three degrees of freedom; g = sqrt(-2 ln(1 - exp(-r^2/2)))
// (Gau-LRQ, Definition 3). g is its own inverse. Relative errors are below 1e-13. The functions are
// pure; a LayerCurve is for one thread at a time.
#pragma once

namespace sotto::server {

// The r at which w = r + g is smallest. There r = g.
constexpr double kNarrowestEdge = 1.1774100225154747;  // sqrt(2 ln 2)

// P(chi_3 <= r) and P(chi_3 > r). r > 0; for LowerTail r <= 2.
double LowerTail(double r);
double UpperTail(double r);

// g(r) for r > 0.
double OtherEdge(double r);

// -ln of the standard Gaussian density.
double MinusLogGaussian(double x);

// The second derivatives are sums of products of powers of r, g, dr/du and 1/(exp(r^2/2) - 1). The
// logarithm of each such term changes by less than 10 per unit of u, so the term itself by less
// than 1 % over this distance.
constexpr double kCurvatureReach = 0x1p-11;

// r and g as functions of u = -log2(distance of the probability to the nearer end of [0, 1]).
struct LayerPoint {
  double r;
  double g;
  double r_slope;      // |dr/du|
  double g_slope;      // |dg/du|
  double r_curvature;  // bounds of |d2r/du2| and |d2g/du2| within kCurvatureReach of this u
  double g_curvature;
};

// Follows one half of the curve from the median, u = 1, outward. Not for use from several threads
// at once.
class LayerCurve {
 public:
  // upper  true: the half above the median
  explicit LayerCurve(bool upper) : upper_(upper) {}

  // The point at u; 1 <= u <= 128, steps of at most 0.01 from call to call, the first from u = 1.
  LayerPoint At(double u);

 private:
  bool upper_;
  double u_ = 1;
  double r_ = 1.5381722544550522;  // the median
  double slope_ = 0;               // dr/du
};

}  // namespace sotto::server
