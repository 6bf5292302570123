// --check: what a run of this device would do, for its owner, before the first job. Part of
// ports/posix/client.
//
// It asks the server for the description of the job's model and closes the link, then reads the
// data: nothing that depends on them reaches the server. It joins no round and writes no file.
#pragma once

#include "options.h"

namespace sotto::posix {

// Prints a line for each thing that was looked at to standard output. Returns the exit status: 0 a
// run would train on these data; kExitUsage they do not suit the model; kExitRefused the server
// refuses the key, or the device the model; kExitNoServer there is no server, or it is not the
// device's. Throws where a run would before it reads its data.
int CheckDevice(const ClientOptions& options);

}  // namespace sotto::posix
