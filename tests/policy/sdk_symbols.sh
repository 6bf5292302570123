#!/usr/bin/env bash
# sdk_symbols.sh NM ARCHIVE SOURCE_DIR
# The SDK's objects refer to no heap, stdio, exceptions, guarded statics or aborts; to Mbed TLS only
# from src/crypto and src/tls. Exits with 77, skipped, if the archive was not built.
set -euo pipefail
nm="$1" archive="$2" source_dir="$3"
if [[ ! -f "${archive}" ]]; then
  echo "skipped: ${archive} is not built"
  exit 77
fi

heap='malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|_Zn[wa].*|_Zd[la].*'
stdio='.*printf(_chk)?|f?puts|fputc|putc|putchar|fwrite|perror'
ends='abort|exit|_Exit|__assert.*|_ZSt9terminatev|_ZSt[0-9]+__throw.*'
runtime='__cxa_.*|__gxx_personality.*|_Unwind.*'
status=0

# Lines "member symbol", the member without its object suffix: "sha256.cc mbedtls_sha256_init".
references="$("${nm}" -A --undefined-only "${archive}" |
  sed -E 's/^.*:([^:]+)\.o(bj)?:.* ([^ ]+)$/\1 \3/')"

if grep -E " (${heap}|${stdio}|${ends}|${runtime})\$" <<< "${references}"; then
  echo "^ the SDK must not refer to these"
  status=1
fi

mbedtls_members="$(sed -n 's/ mbedtls_.*//p' <<< "${references}" | sort -u)"
if [[ -z "${mbedtls_members}" ]]; then
  echo "${archive}: nothing refers to Mbed TLS: is this the SDK?"
  status=1
fi
for member in ${mbedtls_members}; do
  if [[ ! -f "${source_dir}/sdk/src/crypto/${member}" && ! -f "${source_dir}/sdk/src/tls/${member}" ]]; then
    echo "${member} calls Mbed TLS; only sdk/src/crypto and sdk/src/tls may"
    status=1
  fi
done
exit "${status}"
