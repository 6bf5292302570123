#include <fmt/format.h>
#include <string>

#include "audit/audit_request.h"
#include "cli/rows.h"
#include "lab/commands.h"
#include "spec/options_table.h"

namespace sotto::server {
namespace {

// The last tables of server/OPTIONS.md, behind the output of `sotto inspect options`. A test
// compares the page.
std::string Tables() {
  return fmt::format(
      "Audits: `sotto-lab audit epsilon`\n\n{}\n"
      "Audits: `sotto-lab audit membership`\n\n{}\n"
      "Audits: `sotto-lab audit sensitivity`\n\n{}",
      OptionsTable(EpsilonAuditFields()), OptionsTable(MembershipFields()),
      OptionsTable(SensitivityFields()));
}

}  // namespace

posix::Command InspectOptionsCommand() {
  return TablesCommand("options", "the options of the audits", Tables);
}

}  // namespace sotto::server
