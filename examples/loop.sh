#!/bin/sh
# Shows an agent without nub-loop: one pipeline a turn, until the model calls no more tools.
#
#   ./loop.sh PROMPT...                          in a session of its own
#   NUB_SESSION=latest ./loop.sh PROMPT...       on with the latest one
#
# Everything that happens goes to stdout, a record a line. The exit code says how it ended.
set -eu
: "${MAX_TURNS:=50}"
if [ -z "${NUB_SESSION-}" ]; then
    NUB_SESSION=$(nub-session new --format text)
fi
export NUB_SESSION
nub-session append --user "$*"
exec 3>&1
turn=0
while [ "$turn" -lt "$MAX_TURNS" ]; do
    turn=$((turn + 1))
    end=$(nub-session path | nub-ctx | nub-stream | nub-tool run | nub-session append |
        tee -a /dev/fd/3 | tail -n 1)
    case $end in
    *'"type":"done","stop":"tool_use"'*) ;;
    *'"type":"done"'*) exit 0 ;;
    *) exit 1 ;;
    esac
done
exit 4
