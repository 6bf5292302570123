// What a kit says in the place of options. Part of ports/posix/client.
//
// Stateless; safe in any thread.
#pragma once

#include "options.h"
#include "sotto/posix/key_file.h"

namespace sotto::posix {

// The options with what the file of --kit says in the place of those that were not given; names of
// files are those in its folder, and so are the defaults of --mark and --ledger. Throws where
// ReadKit() does. Without --kit it throws if an option is missing that a kit would have.
ClientOptions WithKit(ClientOptions options);

// The device's name and secret, from its key file or else its kit. Throws where these are read.
DeviceKey KeyOf(const ClientOptions& options);

}  // namespace sotto::posix
