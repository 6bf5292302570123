// `sotto account ledger STORE`: the privacy that the jobs of a store have spent. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_LEDGER_H_
#define SOTTO_CLI_ACCOUNT_LEDGER_H_

#include "sotto/options/command.h"

namespace sotto::server {

// A command of `sotto account`. Running it throws what opening the store throws, and
// std::runtime_error if the JSON file cannot be written. It reads a store that a server has open,
// and a file that nobody may write.
posix::Command AccountLedgerCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_LEDGER_H_
