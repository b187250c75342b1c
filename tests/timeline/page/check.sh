#!/usr/bin/env bash
# check.sh MAKE_PAGES: the tests of the timeline's page. Its scripts alone need node 20 or newer;
# the page itself needs a Chromium too. What cannot be tested here is skipped, and says so.
set -euo pipefail
make_pages=$(realpath "$1")
cd "$(dirname "$0")"

if ! node --version 2>/dev/null | grep -qE '^v(2[0-9]|[3-9][0-9])'; then
    echo "skipped: there is no node 20"
    exit 77
fi
node --test *.test.mjs
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$make_pages" "$pages"
node browser_test.mjs "$pages"
