# To be sourced: what the sources include.
# shellcheck shell=bash

# Prints "file line <header>" or "file line \"header\"" for every #include below the folders named.
list_includes() {
  grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.h' --include='*.cc' --include='*.inc' "$@" |
    sed -E 's/^([^:]+):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]+[>"]).*$/\1 \2 \3/'
}
