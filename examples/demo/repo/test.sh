#!/bin/sh
# the tests of leap.sh

failed=0
check() {
    got=$(sh leap.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok      $1 $2"
    else
        echo "FAILED  $1: expected $2, got $got"
        failed=1
    fi
}

check 2023 no
check 2024 yes
check 1900 no
check 2000 yes
exit $failed
