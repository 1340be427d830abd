#!/bin/sh
# Shows nub without an agent: a commit message from the staged change, through two programs and no tools.
#
#   git commit -e -m "$(./commit-msg.sh)"
#   ln -s "$PWD/commit-msg.sh" .git/hooks/prepare-commit-msg
set -eu
if git diff --cached --quiet; then
    echo "commit-msg.sh: nothing is staged" >&2
    exit 1
fi
# as a hook it gets the file of the message, and where the message came from if there is one already
[ -z "${2-}" ] || exit 0
git diff --cached | nub-ctx --no-tools --no-context \
    --system "You write commit messages. Answer with the message alone: a subject of at most 72 characters in the \
imperative, and when the change is not obvious a blank line and a few lines that say why." \
    "Write the message for this change." | nub-stream --format text >"${1:-/dev/stdout}"
