// `sotto audit peers`. Part of sotto::server/lab.
#ifndef SOTTO_LAB_AUDIT_PEERS_H_
#define SOTTO_LAB_AUDIT_PEERS_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the subcommand to `sotto audit`.
void AddAuditPeers(CLI::App& audit);

}  // namespace sotto::server

#endif  // SOTTO_LAB_AUDIT_PEERS_H_
