#!/usr/bin/env bash
# Runs the conformance suite, unmodified, for both revisions, against the URL in the environment. The suite has no option for a
# token, so a proxy adds it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
javascript=$MCP_CLIENTS/javascript/node_modules
node=$javascript/node/bin/node
results=$(mktemp -d)
coproc PROXY { exec "$node" "$here/mcp-token-proxy.mjs"; }
# shellcheck disable=SC2064 # The process of now.
trap "kill $PROXY_PID; rm -rf '$results'" EXIT
read -r url <&"${PROXY[0]}"
for revision in 2026-07-28 2025-11-25; do
    "$node" "$javascript/@modelcontextprotocol/conformance/dist/index.js" server --url "$url" \
        --requirements "$revision" --output-dir "$results" \
        --expected-failures "$here/../../conformance/mcp/$revision.yml" >"$results/$revision.log" ||
        { cat "$results/$revision.log"; exit 1; }
    # From the summary on: the scenarios and their checks.
    sed -n '/SUMMARY/,$p' "$results/$revision.log" | sed "s/^/mcp-conformance $revision /"
done
