// How far the integers of a layer are from the real functions. Part of sotto::server/certificate.
//
// A layer's edges come from the tables of sotto/layer_tables.h. Let D = Y / 2^97 be the layer's
// distance to the nearer end and u = -log2(D). The program computes u' for u, and r' for r before
// the cut to Q27, both taken here as real numbers. The edge is n units exactly if r' lies within
// half a unit of n. Proved for every layer, and likewise for g:
//   |u' - u|    <= arithmetic + deviation + slope * half of what t leaves out of the mantissa
//   |r' - r(u)| <= arithmetic + deviation + slope * (|u' - u| + half of what t leaves out of u')
//
// Lemma 1, arithmetic. Each product but the last is rounded down, by 0 to 1 unit of c. That is
// within half a unit of the middle, which the polynomial counts in. |s| <= 1/2, so the factors
// s, s^2, ... that are still to come make it 1/2 (1/2 + 1/4 + ...) units. The last product adds a
// unit of c0.
// Lemma 2, deviation of the polynomial from the function. It is at most the largest at the nodes
// plus h^2 / 8 of the second derivatives for nodes h apart (LayerPoint's bounds hold between them).
// Lemma 3, slope. It is at most the largest at the nodes plus 1 % for the points between them.
//
// The double arithmetic of this file adds less than 1e-13 at each node; 1e-12 is added for it.
#ifndef SOTTO_CERTIFICATE_TABLE_ERRORS_H_
#define SOTTO_CERTIFICATE_TABLE_ERRORS_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace sotto::server {

// Bounds of |r' - r| and |g' - g|, units of the noise's deviation.
struct EdgeErrors {
  double r = 0;
  double g = 0;
};

class TableErrors {
 public:
  // Examines every piece, for about a second in all; calls progress(done, all) after each.
  explicit TableErrors(const std::function<void(size_t, size_t)>& progress);

  // Largest over all layers whose r lies in [low, high], and a little beyond: also for layers that
  // lie in these pieces or in the neighbouring ones.
  //   0 < low <= high
  EdgeErrors Between(double low, double high) const;

  // Largest over all layers.
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

#endif  // SOTTO_CERTIFICATE_TABLE_ERRORS_H_
