#!/bin/sh
# Shows a step of CI: what a branch changes is reviewed, the review goes into the summary of the job.
#
#   ./review.sh [BASE]        compares HEAD with the place where it left BASE (origin/main)
#
# The agent may look, not touch: a change from outside is untrusted text. It fails when nub fails.
set -eu
base=${1:-origin/main}
if git diff --quiet "$base...HEAD"; then
    echo "review.sh: nothing differs from $base" >&2
    exit 0
fi
export NUB_PERMISSIONS__BASH=deny NUB_PERMISSIONS__WRITE=deny NUB_PERMISSIONS__EDIT=deny
git diff "$base...HEAD" | nub -p --max-turns 20 \
    "Review this change. Read the files around it where that helps. List only faults: file, line, what goes \
wrong and when. If there are none, say so in one line." >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
