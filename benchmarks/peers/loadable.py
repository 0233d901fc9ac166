"""Imported before a peer that loads extensions into SQLite: some Pythons are built without that.

There, pysqlite3 stands in for the standard module.
"""

import sqlite3
import sys

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
