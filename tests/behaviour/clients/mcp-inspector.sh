#!/usr/bin/env bash
# Runs the Inspector's command line, unmodified, in both eras, against the URL and token in the environment. Prints a line per
# check.
set -euo pipefail
export PATH=$MCP_CLIENTS/javascript/node_modules/node/bin:$PATH
export HOME=$MCP_CLIENTS

inspect() {
    "$MCP_CLIENTS/javascript/node_modules/.bin/mcp-inspector" --cli "$MCP_URL" --transport http \
        --header "Authorization: Bearer $MCP_TOKEN" --protocol-era "$era" "$@"
}

check() {
    grep -q -- "$2" <<<"$3" || { echo "$1: $3" >&2; exit 1; }
    echo "mcp-inspector $era $1"
}

for era in legacy modern auto; do
    check "tools/list" '"name": "default"' "$(inspect --method tools/list --strict)"
    called=$(inspect --method tools/call --tool-name default --tool-arg 'message=Hi [[script: say "Hello."]]')
    check "tools/call" '"answer": "Hello."' "$called"
    session=$(grep -o '"session": "[^"]*"' <<<"$called" | head -1 | cut -d'"' -f4)
    check "resources/list" "aptix://sessions/$session" "$(inspect --method resources/list)"
    check "resources/templates/list" 'aptix://search' "$(inspect --method resources/templates/list)"
    check "resources/read" "$session" "$(inspect --method resources/read --uri "aptix://sessions/$session")"
done
