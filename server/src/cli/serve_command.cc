#include "cli/serve_command.h"

#include <memory>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "base/gave_up.h"
#include "cli/job_options.h"
#include "service/results.h"
#include "service/session.h"
#include "sotto/posix/signals.h"

namespace sotto::server {
namespace {

void RunServe(const ServeRequest& o) {
  if (o.seed.has_value() != o.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  posix::IgnoreWriteSignals();
  posix::IgnoreHangUp();
  RequireServeOutputs(o);
  Validate(o);
  ServeSession(o).Run();
}

}  // namespace

void AddServeCommand(CLI::App& app) {
  const auto options = std::make_shared<ServeRequest>();
  CLI::App& serve = *app.add_subcommand("serve", "run a job for devices on the network, over TLS");
  AddServeOptions(serve, *options);
  serve.footer(kJobFooter);
  serve.callback([options] { RunServe(*options); });
}

}  // namespace sotto::server
