"""write_pyarrow.py FILE FOLDER: plain Parquet by pyarrow."""

import sys

import pyarrow.parquet as pq
from clock import Clock, events

file, folder = sys.argv[1:]
table = events(file)
with Clock() as clock:
    pq.write_table(table, f"{folder}/0.parquet", compression="zstd", compression_level=1)
clock.say(table.num_rows, folder)
