// `sotto data stats` and `sotto data pca`: what a model file needs of a data set. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_DATA_FIT_H_
#define SOTTO_CLI_DATA_FIT_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the two subcommands to `sotto data`.
void AddDataFits(CLI::App& data);

}  // namespace sotto::server

#endif  // SOTTO_CLI_DATA_FIT_H_
