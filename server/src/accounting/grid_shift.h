// A bound on the shift that the grid of round_loss.h adds to a sum of losses. Used by loss_sum.h.
// Part of sotto::server/accounting.
#pragma once

#include <map>
#include <vector>

#include "accounting/round_loss.h"

namespace sotto::privacy {

//   Lemma 1. Given a round's loss, the grid moves the loss by a random Z within its cell, and
//     E[e^-Z] = 1. Let w be the width of the cell. By Hoeffding's lemma the mean of Z is at most
//     w^2 / 8 and E[e^(mu Z)] at most e^((mu + mu^2) w^2 / 8).
//   Lemma 2. Given the losses, the Z of all rounds are independent. Chernoff's bound limits their
//     sum.
// Only Add changes the object; Bound is safe from any thread once all the rounds are added.
class GridShift {
 public:
  // Adds `rounds` rounds of this loss to the sum.
  void Add(const GridLoss& grid, double rounds);

  // An amount b such that the sum moves up by more than b with probability at most e^log_chance.
  //   log_chance  < 0
  double Bound(double log_chance) const;

 private:
  struct Group {
    std::map<double, double> mass_by_width;
    double rounds = 0.0;
  };

  double LargestCountedWidth(double chance) const;

  std::vector<Group> groups_;
};

}  // namespace sotto::privacy
