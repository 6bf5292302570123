// `sotto-lab inspect certificate`: the proof of the dither's constants. Part of sotto::server/lab.
#ifndef SOTTO_LAB_CERTIFICATE_COMMAND_H_
#define SOTTO_LAB_CERTIFICATE_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command CertificateCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_CERTIFICATE_COMMAND_H_
