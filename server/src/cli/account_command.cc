#include "cli/account_command.h"

#include <CLI/CLI.hpp>

#include "cli/account_ledger.h"

namespace sotto::server {

void AddAccountCommand(CLI::App& app) {
  CLI::App& account = *app.add_subcommand("account", "privacy arithmetic: what was spent");
  account.require_subcommand(1);
  AddAccountLedgerCommand(account);
}

}  // namespace sotto::server
