# The pages: every Markdown file that a user may read. To be sourced, with source_dir set.
# shellcheck shell=bash

# Prints their paths from the source folder, one a line. CHANGELOG.md is left out: its commands and paths
# belong to older versions.
list_pages() {
  (cd "${source_dir:?}" && printf '%s\n' README.md INDEX.md OTHERS.md DESIGN.md &&
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

# write_page_files PAGE FOLDER: extracts the blocks to FOLDER and writes the files that the page shows into
# the current folder: model files under the names in their first lines, others under the names behind
# their language, ```csv steps.csv. Returns non-zero if a model file has no name.
write_page_files() {
  local block name status=0
  extract_blocks "$1" "$2"
  for block in "$2"/*.toml "$2"/*.csv\ * "$2"/*.python\ *; do
    [[ -e "${block}" ]] || continue
    name="${block##*.* }"
    [[ "${block}" != *.toml ]] || name="$(sed -nE '1s/^# ([a-z]+\.toml)$/\1/p' "${block}")"
    if [[ -n "${name}" ]]; then cp "${block}" "${name}"; else status=1; fi
  done
  return "${status}"
}

# play_commands COMMANDS BIN: runs them in a new shell, with the programs of BIN and the sources of source_dir; their
# output goes to output.txt. Returns non-zero, and prints the output's end, if one fails.
play_commands() {
  local commands="${1//build\/host\/bin\//$2/}"
  commands="${commands// examples\// ${source_dir:?}/examples/}"
  commands="${commands//\"\$PWD\"\/toolchains\//${source_dir}/toolchains/}"
  commands="${commands//\"\$PWD\"\/examples\//${source_dir}/examples/}"
  echo "+ $1"
  bash -e -o pipefail -c "${commands}" > output.txt 2>&1 || {
    tail -n 30 output.txt
    return 1
  }
}

# play_console BLOCK BIN: "$ command", which goes on behind a backslash, then lines of what it prints.
play_console() {
  local line command=''
  while IFS= read -r line; do
    if [[ -n "${command}" ]]; then
      command+=$'\n'"${line}"
    elif [[ "${line}" == '$ '* ]]; then
      command="${line#'$ '}"
    elif ! grep -qxF -e "${line}" output.txt; then
      echo "FAILED: the last command does not print: ${line}: $(cat output.txt)"
      return 1
    fi
    if [[ -n "${command}" && "${command}" != *\\ ]]; then
      play_commands "${command}" "$2" || return 1
      command=''
    fi
  done < "$1"
}

# play_session SERVER DEVICES BIN: a session of two shells, bash scripts. SERVER runs in one shell, its last
# command `sotto serve`; as soon as that listens, on a free port, DEVICES runs in the other. Programs come
# from BIN. What the two print goes to server.txt and clients.txt, and to standard output if one fails:
# then the result is non-zero.
play_session() {
  local server
  rm -f port
  sed -i "s#build/host/bin/#$3/#" "$1" "$2"
  sed -i 's#sotto serve #sotto serve --listen 127.0.0.1:0 --port-file port --model-out model.f32 #' "$1"
  bash -e "$1" > server.txt 2>&1 &
  server=$!
  # shellcheck disable=SC2064  # this server
  trap "kill ${server} 2> /dev/null || true" EXIT
  for ((i = 0; i < 300; i++)); do
    [[ ! -s port ]] || break
    sleep 0.1
  done
  [[ -s port ]] || {
    cat server.txt
    echo "FAILED: the server does not listen"
    return 1
  }
  sed -i -E "s#(127.0.0.1:|host=127.0.0.1,port=)7177#\\1$(cat port)#" "$2"
  if ! bash -e "$2" > clients.txt 2>&1 || ! wait "${server}"; then
    cat server.txt clients.txt
    echo "FAILED: the session of server and devices"
    return 1
  fi
  trap - EXIT
}
