#!/bin/sh
# Run once, by PostgreSQL's image, in a new and empty server: the roles and the database that
# docs/how-to/postgresql.md describes. Who owns the tables is not who uses them.
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
