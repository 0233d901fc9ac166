"""Import before a peer that loads SQLite extensions, which some Python builds do not support.

In that case, pysqlite3 replaces the standard module.
"""

import sqlite3
import sys

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
