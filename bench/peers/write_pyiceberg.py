"""write_pyiceberg.py FILE FOLDER: an append to a new Iceberg table by PyIceberg, its commit included."""

import sys

from clock import Clock, events
from pyiceberg.catalog.sql import SqlCatalog

file, folder = sys.argv[1:]
rows = events(file)
catalog = SqlCatalog("p", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
catalog.create_namespace("n")
table = catalog.create_table("n.events", schema=rows.schema)
with Clock() as clock:
    table.append(rows)
assert sum(f.file.record_count for f in table.scan().plan_files()) == rows.num_rows
clock.say(rows.num_rows, folder)
