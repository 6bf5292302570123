// How the rows of the table of partitions deal out samples. Part of sotto::data.
//
// Each function makes the partition of one row. It draws from Deal::random alone and in a fixed
// order, whatever the machine. Throws std::invalid_argument for data that the row cannot deal out.
#pragma once

#include <cstddef>
#include <vector>

#include "sotto/data/deal.h"

namespace sotto {

// Ends of the parts of `count` things, cut in these proportions.
//   shares  [parts] >= 0 with sum 1
std::vector<size_t> CutInShares(size_t count, const std::vector<double>& shares);

Partition DealIid(const Deal& deal);
Partition DealIidOverlap(const Deal& deal);
Partition DealQuantity(const Deal& deal);

// Rows that look at labels.
Partition DealEqualClasses(const Deal& deal);
Partition DealShards(const Deal& deal);
Partition DealDirichlet(const Deal& deal);
Partition DealDirichletSplit(const Deal& deal);

// Rows that do what the data or a file say.
Partition DealGroups(const Deal& deal);
Partition DealFile(const Deal& deal);

}  // namespace sotto
