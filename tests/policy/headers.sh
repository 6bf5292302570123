#!/usr/bin/env bash
# headers.sh SOURCE_DIR
# The SDK includes freestanding headers only, Eigen in one place, Mbed TLS in crypto and tls, nanopb
# in wire; the server leaves the operating system's headers to the ports, and its own headers take
# json_fwd.hpp: only a file that builds or reads JSON compiles all of the library.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=includes.sh
source "$(dirname "${BASH_SOURCE[0]}")/includes.sh"
cd "$1"

list_includes sdk server | awk '
  function complain(why) { print $1 ":" $2 ": " $3 ": " why; bad = 1 }
  BEGIN {
    standard = "^<(array|cmath|cstddef|cstdint|initializer_list|limits|new|type_traits|utility)>$"
    posix = "^<((arpa|linux|mach|net|netinet|sys)/.*|(aio|dirent|dlfcn|fcntl|ifaddrs|netdb|poll|" \
            "pthread|pwd|sched|semaphore|signal|spawn|strings|syslog|termios|time|unistd|wait|" \
            "windows|winsock2)\\.h)>$"
  }
  { seen++ }
  $1 ~ /^sdk\// && $3 ~ /^</ {
    if ($3 ~ /^<Eigen\//) {
      if ($1 != "sdk/src/nn/lanes.h") complain("Eigen is included by sdk/src/nn/lanes.h only")
    } else if ($3 ~ /^<mbedtls\//) {
      if ($1 !~ /^sdk\/src\/(crypto|tls)\//) complain("Mbed TLS belongs to sdk/src/crypto and tls")
    } else if ($3 ~ /^<pb(_[a-z]+)?\.h>$/) {
      if ($1 !~ /^sdk\/src\/wire\//) complain("nanopb belongs to sdk/src/wire")
    } else if ($1 == "sdk/include/sotto_c.h" && $3 ~ /^<std(def|int)\.h>$/) {
      # a header of C
    } else if ($3 !~ standard) {
      complain("not a freestanding header; no OS, heap or stdio under sdk/")
    }
  }
  $1 ~ /^sdk\/include\// && $3 ~ /^"/ && $3 !~ /^"(sotto\/(layers\/)?[a-z0-9_]+|sotto_c)\.h"$/ {
    complain("a public header includes public headers only")
  }
  $1 ~ /^server\// && $3 ~ posix { complain("operating-system headers belong to ports/") }
  $1 ~ /\.h$/ && $3 == "<nlohmann/json.hpp>" {
    complain("headers include <nlohmann/json_fwd.hpp>")
  }
  END {
    if (seen < 50) { print "only " seen + 0 " includes found: is this the source folder?"; bad = 1 }
    exit bad
  }'
