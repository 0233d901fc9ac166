#!/bin/sh
# Create the secrets for compose.yaml; existing ones are kept. Back up secrets/memolith_key: nobody can read the
# stored data without it.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
for name in memolith_key db_password deploy_password app_password; do
    if [ ! -e "secrets/$name" ]; then
        od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
    fi
done
# Compose mounts the files with these permissions. The container users (10001, and PostgreSQL's) must be able to read
# them; the directory keeps other users of this machine out.
chmod 444 secrets/*
chmod 700 secrets
