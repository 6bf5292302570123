// `sotto-lab inspect certificate`: the proof of the dither's constants. Part of sotto::server/lab.
#ifndef SOTTO_LAB_CERTIFICATE_COMMAND_H_
#define SOTTO_LAB_CERTIFICATE_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

void AddCertificateCommand(CLI::App& inspect);

}  // namespace sotto::server

#endif  // SOTTO_LAB_CERTIFICATE_COMMAND_H_
