// The commands of `sotto`, each with its options, its help, and what runs. Part of
// sotto::server/cli.
#pragma once

#include "sotto/options/command.h"

namespace sotto::server {

// The program: all commands.
posix::Command SottoProgram();

// Running it writes the progress to standard error, and the table to standard output, or to
// standard error if JSON goes to standard output. Files are written as the options say. It throws
// what MakeSimulation(), OpenDataOf() and Simulate() throw, and std::runtime_error if a file
// cannot be written.
posix::Command SimulateCommand();

// Running it throws what MakeJob(), the store and Server throw. Events go to standard error, one
// line each. Results go where the options say.
posix::Command ServeCommand();

// With the commands new, list, revoke, rotate and export. A secret goes into the store, a key file
// or a C header, all of mode 0600, and never to a terminal, a log or JSON. The commands throw
// std::invalid_argument for options that exclude each other and std::runtime_error for an error of
// the store or a file.
posix::Command KeysCommand();

// Prints what a participation costs on a link. Running it throws what MakeJob() throws.
posix::Command TrafficCommand();

posix::Command StatusCommand();
posix::Command JobCommand();
posix::Command StoreCommand();

// Running it throws what opening the store and writing the file throw, and std::invalid_argument
// for a file that is neither a store nor results.
posix::Command ReportCommand();

posix::Command ModelCommand();

posix::Command ModelExportCommand();
posix::Command ModelPredictCommand();
posix::Command ModelEvaluateCommand();
posix::Command ModelThresholdCommand();
posix::Command ModelAttachCommand();

posix::Command DataCommand();

posix::Command DataFeaturesCommand();
posix::Command DataStatsCommand();
posix::Command DataPcaCommand();

posix::Command PeersCommand();

// Runs the simulation, or with --seeds several, and prints what came out. Throws as MakePeers(),
// SimulatePeers() and OutputFile do, and Stopped.
posix::Command PeersSimulateCommand();

posix::Command DirectoryCommand();

// A command of `sotto peers`. Running it throws std::invalid_argument for options that do not go
// together, privacy::UnattainableEpsilon, and what opening a model or a file throws.
posix::Command PeersAccountCommand();

posix::Command AccountCommand();

// A command of `sotto account`. Running it throws what MakeJob() throws, and with --data what
// SearchClip() (sim/clip_search.h) and OpenDataOf() throw, and Stopped.
posix::Command AccountPlanCommand();

// A command of `sotto account`. Running it throws what opening the store throws, and
// std::runtime_error if the JSON file cannot be written. It reads a store that a server has open,
// and a file that nobody may write.
posix::Command AccountLedgerCommand();

posix::Command InspectCommand();

}  // namespace sotto::server
