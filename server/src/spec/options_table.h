// Rows of options as a Markdown table, for pages. Part of sotto::server/spec.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/job_field.h"

namespace sotto::server {

// Option, default, range, meaning.
std::string OptionsTable(const std::vector<std::pair<FieldText, Value>>& rows);
template <class Row>
std::string OptionsTable(const std::vector<Row>& fields) {
  std::vector<std::pair<FieldText, Value>> rows;
  for (const Row& field : fields) {
    if (field.is_option()) rows.emplace_back(field, field.get(typename Row::Request()));
  }
  return OptionsTable(rows);
}

// The same of a job's fields, and whether a resumed job may change the option, and what devices
// learn of it.
std::string JobOptionsTable(const std::vector<JobField>& fields);

}  // namespace sotto::server
