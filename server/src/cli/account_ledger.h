// `sotto account ledger RUN`: the privacy that the jobs of a store have spent. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_LEDGER_H_
#define SOTTO_CLI_ACCOUNT_LEDGER_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command to `sotto account`. Running it throws what opening the store throws, and
// std::runtime_error if the JSON file cannot be written. A file that nobody may write will do.
void AddAccountLedgerCommand(CLI::App& account);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_LEDGER_H_
