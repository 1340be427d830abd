#!/usr/bin/env bash
# The main job on a real endpoint, three tries each: ask about a file, run the tests, edit.
#   NUB_REAL_ENDPOINT=http://127.0.0.1:8089/v1 tests/real/main-job.sh [FOLDER-FOR-RECORDS]
# Needs the programs on PATH or in target/release.
set -uo pipefail
if [ -z "${NUB_REAL_ENDPOINT:-}" ]; then
  echo "skipped: set NUB_REAL_ENDPOINT to the base URL of a server"
  exit 0
fi
here=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$here/target/release:$PATH
out=${1:-$(mktemp -d)}
mkdir -p "$out"

new_repo() {
  dir=$(mktemp -d)
  cd "$dir" || exit 1
  git init -q
  cat >calc.py <<'PY'
"""Arithmetic on two numbers."""


def add(a, b):
    return a - b


def multiply(a, b):
    return a * b
PY
  cat >test_calc.py <<'PY'
import unittest

from calc import add, multiply


class CalcTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

    def test_multiply(self):
        self.assertEqual(multiply(2, 3), 6)
PY
  mkdir -p config/nub
  cat >config/nub/config.toml <<TOML
version = 1
[model]
default = "${NUB_REAL_MODEL:-qwen2.5-coder-1.5b}"
endpoint = "real"
[[endpoint]]
name = "real"
base_url = "$NUB_REAL_ENDPOINT"
api_key = "none"
[endpoint.caps]
text_tool_calls = ["json_fence", "hermes"]
[endpoint.extra_body]
temperature = 0
TOML
  export XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state
}

try() { # NAME PROMPT
  for n in 1 2 3; do
    new_repo
    began=$(date +%s)
    nub -p --mode json "$2" >"$out/$1-$n.ndjson" 2>"$out/$1-$n.err" </dev/null
    code=$?
    calls=$(jq -r 'select(.type=="tool_start")|.name' "$out/$1-$n.ndjson" | tr '\n' ' ')
    text=$(jq -r 'select(.type=="result")|.text' "$out/$1-$n.ndjson" | tr '\n' ' ' | cut -c1-160)
    echo "$1 $n: exit $code, $(($(date +%s) - began)) s, calls: ${calls:-none}; $text"
    nub-session check >"$out/$1-$n.check" 2>&1 || echo "  session damaged: $(head -1 "$out/$1-$n.check")"
    git -C "$dir" diff --no-index --stat /dev/null calc.py >/dev/null
    python3 -c 'import ast,sys; ast.parse(open("calc.py").read())' || echo "  calc.py is damaged"
  done
}

try ask "what does calc.py do? read it first"
try tests "run the tests with python3 -m unittest and say what fails"
try edit "in calc.py the function add returns a - b; change it so that it returns a + b"
echo "records: $out"
