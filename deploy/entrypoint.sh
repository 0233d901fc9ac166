#!/bin/sh
# Read secrets from files, then run memolith. Container settings are visible to `docker inspect`, and arguments to `ps`;
# files are not.
set -eu

# from_file NAME: if NAME_FILE is set, set NAME to the content of that file.
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
