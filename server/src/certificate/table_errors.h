// Bounds of the differences between the integers of a layer and the real functions. A TableErrors
// is immutable after construction and safe from any thread. Part of sotto::server/certificate.
//
// Notation. A layer's edges come from the tables of sotto/layer_tables.h. D = Y / 2^97 is the
// layer's distance to the nearer end, and u = -log2(D). The program computes u' for u, and r' for r
// before the cut to Q27. Both are taken here as real numbers. The edge is n units exactly if r'
// lies within half a unit of n.
//
// Claim. For every layer, and likewise for g:
//   |u' - u|    <= arithmetic + deviation + slope * m
//   |r' - r(u)| <= arithmetic + deviation + slope * (|u' - u| + k)
// where m is half of the part of the mantissa that t leaves out, and k is half of the part of u'
// that t leaves out.
//
// Lemma 1, arithmetic. Each product but the last is rounded down, by 0 to 1 unit of c. So it is
//   within half a unit of the middle, and the polynomial counts in the middle. |s| <= 1/2, and each
//   product is still multiplied by s, s^2, ... in later steps. So these products contribute
//   1/2 (1/2 + 1/4 + ...) units. The last product adds a unit of c0.
// Lemma 2, deviation of the polynomial from the function. It is at most the largest deviation at
//   the nodes plus h^2 / 8 of the second derivatives for nodes h apart (LayerPoint's bounds hold
//   between them).
// Lemma 3, slope. It is at most the largest slope at the nodes plus 1 % for the points between
// them.
//
// The double arithmetic of this file adds less than 1e-13 at each node; 1e-12 is added for it.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace sotto::server {

// Bounds of |r' - r| and |g' - g|, in units of the noise's deviation.
struct EdgeErrors {
  double r = 0;
  double g = 0;
};

class TableErrors {
 public:
  // Examines every piece, which takes about a second in all. Calls progress(done, all) after each
  // piece.
  explicit TableErrors(const std::function<void(size_t, size_t)>& progress);

  // The largest errors over all layers whose r lies in [low, high]. They also cover a little more:
  // the layers in the same pieces or in neighbouring pieces.
  //   0 < low <= high
  EdgeErrors Between(double low, double high) const;

  // The largest errors over all layers.
  EdgeErrors All() const;

  // Points at which a polynomial was compared with its function.
  size_t nodes() const { return nodes_; }

 private:
  void ExamineLog2();
  void ExamineHalf(bool upper, const std::function<void()>& step);
  size_t IndexOf(double r) const;

  double log2_error_ = 0;  // of u'
  // Along r: the lower half's pieces from its last one down, then the upper half's.
  std::vector<EdgeErrors> pieces_;
  size_t nodes_ = 0;
};

}  // namespace sotto::server
