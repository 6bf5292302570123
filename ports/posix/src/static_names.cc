// Of a program that is linked statically: names of hosts are found in /etc/hosts and by DNS, which
// glibc does itself. For anything else that /etc/nsswitch.conf may name, such as mDNS, it would
// load this system's libraries into a program that was linked with another glibc.
#include <features.h>
#ifdef __GLIBC__
#include <nss.h>

namespace {

// Before main(), so before any name is looked up.
[[maybe_unused]] const int kConfigured = __nss_configure_lookup("hosts", "files dns");

}  // namespace
#endif
