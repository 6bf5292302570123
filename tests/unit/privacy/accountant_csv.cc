// The reader of tests/vectors/accountant.csv.
#include "unit/privacy/accountant_csv.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace sotto::privacy {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<double> Numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& part : Split(text, ';')) numbers.push_back(std::stod(part));
  return numbers;
}

double NumberOrZero(const std::string& text) { return text.empty() ? 0.0 : std::stod(text); }

AccountantRow ParseRow(const std::vector<std::string>& cells) {
  AccountantRow row;
  row.id = cells.at(0);
  row.mechanism = cells.at(1);
  row.noise_multipliers = Numbers(cells.at(3));
  row.rates = Numbers(cells.at(4));
  row.rounds = Numbers(cells.at(5));
  row.delta = NumberOrZero(cells.at(6));
  row.orders_set = cells.at(7);
  row.alpha = NumberOrZero(cells.at(8));
  row.quantity = cells.at(9);
  row.conversion = cells.at(10);
  row.value = std::stod(cells.at(11));
  return row;
}

}  // namespace

std::vector<AccountantRow> ReadAccountantRows(const std::string& mechanism) {
  std::ifstream file(std::string(SOTTO_VECTORS) + "/accountant.csv");
  if (!file) throw std::runtime_error("cannot open " SOTTO_VECTORS "/accountant.csv");
  std::vector<AccountantRow> rows;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = Split(line, ',');
    if (cells.at(1) == mechanism) rows.push_back(ParseRow(cells));
  }
  return rows;
}

std::vector<double> ParseOrders(const std::string& orders_set) {
  std::vector<double> orders;
  for (std::string part : Split(orders_set, ';')) {
    part.erase(0, part.find_first_of("0123456789"));
    const size_t dots = part.find("..");
    const size_t step_word = part.find("step");
    const double first = std::stod(part);
    const double last = dots == std::string::npos ? first : std::stod(part.substr(dots + 2));
    const double step =
        step_word == std::string::npos ? 1.0 : std::stod(part.substr(step_word + 4));
    const auto count = std::lround((last - first) / step);
    for (int64_t i = 0; i <= count; ++i) orders.push_back(first + static_cast<double>(i) * step);
  }
  return orders;
}

}  // namespace sotto::privacy
