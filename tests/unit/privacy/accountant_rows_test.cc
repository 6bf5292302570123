// Every row of tests/vectors/accountant.csv is read by a test.
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "unit/csv.h"

namespace sotto::privacy {
namespace {

// Every kind of row in accountant.csv, with the number of its rows that some test reads and counts.
// A kind that is new, or has other rows than were counted, fails here.
const std::map<std::string, int> kRowsTested = {
    {"poisson_gaussian rdp ", 55},                                 // rdp_test
    {"poisson_gaussian epsilon classic", 3 * 41},                  // conversion_test
    {"poisson_gaussian epsilon improved", 3 * 41},                 // conversion_test
    {"poisson_gaussian epsilon pld_optimistic_lower_bound", 41},   // conversion_test, pld_test
    {"poisson_gaussian epsilon pld_pessimistic_upper_bound", 41},  // pld_test
    {"poisson_gaussian_hetero epsilon classic", 3},                // conversion_test
    {"poisson_gaussian_hetero epsilon improved", 3},               // conversion_test
    {"wor_gaussian_thm9 rdp ", 60},                                // rdp_test
    {"wor_gaussian_thm9 epsilon classic", 72},                     // conversion_test
    {"wor_gaussian_thm9 epsilon improved", 72},                    // conversion_test
    {"gdp_mu epsilon dual", 18},                                   // gdp_test
    {"gdp_mu delta dual", 5},                                      // gdp_test
    {"gaussian_exact epsilon dual", 3},                            // gdp_test, conversion_test
    {"gdp_clt_uniform mu ", 6},                                    // gdp_test
    {"gdp_clt_uniform epsilon dual", 6},                           // gdp_test
    {"dpfedls_thm2_poisson nu_min closed_form", 8},                // closed_forms_test
};

TEST(AccountantRowsTest, NoKindOfRowIsWithoutATest) {
  std::map<std::string, int> rows;
  for (const std::vector<std::string>& cells : ReadCsv("accountant.csv")) {
    ++rows[cells.at(1) + " " + cells.at(9) + " " + cells.at(10)];
  }
  EXPECT_EQ(rows, kRowsTested);
}

}  // namespace
}  // namespace sotto::privacy
