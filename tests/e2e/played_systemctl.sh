#!/usr/bin/env bash
# played_systemctl.sh ACTION [OPTION|UNIT]...
# systemctl for hosting.sh: starts, in the background, what the units in ${UNITS} say, with their umask, as this
# user and below ${ROOT}; RELOCATE is a sed script for paths. A oneshot unit runs to its end. What other
# units would do is only recorded, in ${STATE}/played.txt.
set -euo pipefail
: "${UNITS:?}" "${ROOT:?}" "${STATE:?}" "${RELOCATE:?}"

# value UNIT NAME: its lines in the unit, one or several.
value() { sed -n "s/^$2=//p" "${UNITS}/$1" | sed -E "${RELOCATE}"; }

# run UNIT COMMAND: one line of an Exec setting.
run() {
  local folder
  folder="$(value "$1" WorkingDirectory)"
  cd "${folder:-${ROOT}}"
  umask "$(value "$1" UMask)"
  # shellcheck disable=SC2086  # its words
  exec $2
}

run_to_end() { # run_to_end UNIT
  local line status=0
  while IFS= read -r line; do
    (run "$1" "${line}") || { status=1 && break; }
  done < <(sed -nE 's/^Exec(StartPre|Start)=//p' "${UNITS}/$1" | sed -E "${RELOCATE}")
  while IFS= read -r line; do (run "$1" "${line}"); done < <(value "$1" ExecStopPost)
  return "${status}"
}

start() { # start UNIT
  local name
  for name in $(value "$1" StateDirectory); do (umask 077 && mkdir -p "${ROOT}/var/lib/${name}"); done
  if [[ "$(value "$1" Type)" == oneshot ]]; then
    run_to_end "$1"
    return
  fi
  # The log and the number of the run before say nothing of this one.
  : > "${STATE}/$1.log"
  rm -f "${STATE}/$1.pid"
  (
    run "$1" "$(value "$1" ExecStart)" &
    echo $! > "${STATE}/$1.pid"
    wait $! && status=0 || status=$?
    echo "(exit ${status})" >> "${STATE}/$1.log"
  ) < /dev/null > "${STATE}/$1.log" 2>&1 &
  for ((i = 0; i < 300; i++)); do
    [[ ! -s "${STATE}/$1.pid" ]] || ! grep -qE 'listening on|^\(exit' "${STATE}/$1.log" || break
    sleep 0.1
  done
}

stop() { # stop UNIT
  [[ -e "${STATE}/$1.pid" ]] || return 0
  kill "$(cat "${STATE}/$1.pid")" 2> /dev/null || true
  for ((i = 0; i < 300; i++)); do
    ! grep -q '^(exit' "${STATE}/$1.log" || break
    sleep 0.1
  done
  rm "${STATE}/$1.pid"
}

action="$1"
shift
[[ " $* " != *' --now '* ]] || action=start
for name in "$@"; do
  [[ "${name}" != -* ]] || continue
  [[ "${name}" == *.* ]] || name="${name}.service"
  echo "${action} ${name}" >> "${STATE}/played.txt"
  [[ "${name}" == *.service && -e "${UNITS}/${name}" ]] || continue
  case "${action}" in
    start | stop) "${action}" "${name}" ;;
    restart)
      stop "${name}"
      start "${name}"
      ;;
    status) tail -n 5 "${STATE}/${name}.log" ;;
    *) ;;
  esac
done
