#!/bin/sh
# Shows that one turn of an agent is one pipeline: ./turn.sh PROMPT...
# The last record, `done`, says whether the model wants another turn (stop = "tool_use"): loop.sh goes round.
set -eu
[ $# -gt 0 ] && nub-session append --user "$*" >/dev/null
nub-session path | nub-ctx | nub-stream | nub-tool run | nub-session append
