#!/bin/sh
# Runs memolith with its secrets, which come as files: what stands in a container's settings can be
# read by everybody who may inspect it, and what stands in its arguments by everybody who may list
# processes.
set -eu

# from_file NAME: set the variable NAME to what is in the file that NAME_FILE names, if it does.
from_file() {
    eval "file=\${$1_FILE:-}"
    if [ -n "$file" ]; then
        if [ ! -r "$file" ]; then
            echo "memolith-entrypoint: $1_FILE: can't read $file" >&2
            exit 14
        fi
        export "$1=$(cat "$file")"
        unset "$1_FILE"
    fi
}

from_file MEMOLITH_KEY
from_file PGPASSWORD
from_file OPENAI_API_KEY
from_file ANTHROPIC_API_KEY

exec memolith "$@"
