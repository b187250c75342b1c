#!/usr/bin/env bash
# check.sh MAKE_PAGES: tests the timeline's page. The scripts need node 20 or newer. The page itself
# also needs a Chromium. Tests that are impossible here are skipped, with a message.
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
