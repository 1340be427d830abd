#!/bin/sh
# leap.sh YEAR: says whether a year has 366 days

if [ $(($1 % 4)) -eq 0 ]; then
    echo yes
else
    echo no
fi
