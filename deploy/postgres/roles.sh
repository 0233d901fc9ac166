#!/bin/sh
# Create the roles and the database of docs/how-to/postgresql.md. PostgreSQL's image runs this once, on a new server.
# One role owns the tables, another uses them.
set -eu

psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
    --set "deploy=$(cat "${SECRETS:-/run/secrets}/deploy_password")" \
    --set "app=$(cat "${SECRETS:-/run/secrets}/app_password")" <<'SQL'
CREATE ROLE memolith_application NOLOGIN;
CREATE ROLE memolith_maintenance NOLOGIN;
CREATE ROLE memolith_deploy LOGIN PASSWORD :'deploy';
GRANT memolith_application, memolith_maintenance TO memolith_deploy;
CREATE ROLE memolith_app LOGIN PASSWORD :'app' IN ROLE memolith_application;
CREATE DATABASE memory OWNER memolith_deploy;
\connect memory
CREATE EXTENSION vector;
SQL
