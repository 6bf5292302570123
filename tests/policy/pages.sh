# The pages: every Markdown file that a user may read. To be sourced, with source_dir set.
# shellcheck shell=bash

# Prints their paths from the source folder, one a line. CHANGELOG.md is a list of the past: its commands
# and paths are those of older versions.
list_pages() {
  (cd "${source_dir:?}" && echo README.md && echo DESIGN.md &&
    find sdk ports server examples toolchains tests -name '*.md' | LC_ALL=C sort)
}

# extract_blocks PAGE FOLDER: writes the fenced blocks of a page to FOLDER/NUMBER.LANGUAGE. A fence
# without a language gives NUMBER.none. Returns non-zero if a fence is not closed.
extract_blocks() {
  mkdir -p "$2"
  awk -v work="$2" '
    /^```/ && !inside {
      inside = 1
      language = substr($0, 4)
      file = work "/" ++count "." (language == "" ? "none" : language)
      printf "" > file
      next
    }
    /^```/ { inside = 0; close(file); next }
    inside { print > file }
    END { exit inside }' "${source_dir:?}/$1"
}
