// Reads tests/vectors/accountant.csv: independently computed values of privacy accountants.
#pragma once

#include <string>
#include <vector>

namespace sotto::privacy {

// One row. In the file ';' separates the elements of a list, and a field that the mechanism does
// not use is empty.
struct AccountantRow {
  std::string id;
  std::string mechanism;
  std::vector<double> noise_multipliers;
  std::vector<double> rates;
  std::vector<double> rounds;
  double delta = 0.0;
  std::string orders_set;  // "single", "continuous", or a list for ParseOrders
  double alpha = 0.0;      // the order of a "single" row
  std::string quantity;
  std::string conversion;
  double value = 0.0;
};

// Every row of the mechanism, in the file's order. Throws std::runtime_error if the file is
// missing.
std::vector<AccountantRow> ReadAccountantRows(const std::string& mechanism);

// "1.1..10.9 step 0.1; 12..63", "int2..64", "11..63; 128;256": the orders in ascending order.
std::vector<double> ParseOrders(const std::string& orders_set);

}  // namespace sotto::privacy
