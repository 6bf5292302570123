// `sotto audit`: what can be measured of a job's privacy. Part of sotto::server/lab.
#ifndef SOTTO_LAB_AUDIT_COMMAND_H_
#define SOTTO_LAB_AUDIT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command with its subcommands. A subcommand runs when it is parsed. It writes its
// results and then throws std::runtime_error if it found a violation.
void AddAuditCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_LAB_AUDIT_COMMAND_H_
