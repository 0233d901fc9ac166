#!/bin/sh
# Makes the secrets of compose.yaml, once. Back up secrets/memolith_key: without it, what is stored can't be
# read, by anybody.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
for name in memolith_key db_password deploy_password app_password; do
    if [ ! -e "secrets/$name" ]; then
        od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
    fi
done
# Compose shows files as they are: the user in the containers (10001, and PostgreSQL's) must be able to
# read them. The folder keeps everybody else on this machine out.
chmod 444 secrets/*
chmod 700 secrets
