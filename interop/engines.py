"""The readers that the suite compares: each gives the rows of a table at a snapshot as dicts of Python values.

All four read the same snapshot by its id. Only `pipe` itself shares code with the writer.
"""

import glob
import json
import os
import subprocess
import sys
from decimal import Decimal

import duckdb
from pyiceberg.catalog.sql import SqlCatalog


class Project:
    """A project's tables, as PyIceberg and DuckDB find them: by the catalog's database, and by its metadata files."""

    def __init__(self, pipe, folder):
        self.pipe, self.folder = pipe, os.path.abspath(folder)
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{self.folder}/.pipe/catalog.db")
        self.duck = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
        self.duck.execute("SET TimeZone = 'UTC'")
        for name in ("avro", "iceberg"):
            found = glob.glob(f"{sys.prefix}/lib/python*/site-packages/**/{name}.duckdb_extension", recursive=True)
            self.duck.execute(f"LOAD '{found[0]}'")

    def status(self, name):
        """What `pipe status --json` said after a run, as (table, snapshot, rows)."""
        with open(f"{self.folder}/{name}.json") as f:
            stages = json.load(f)["stages"]
        return [(o["table"], o["snapshot"], o["rows"]) for s in stages for o in s["outs"] if "table" in o]

    def table(self, name):
        return self.catalog.load_table(name)

    def show(self, name, snapshot=None, limit=10**9):
        at = name if snapshot is None else f"{name}@{snapshot}"
        text = subprocess.run(
            [self.pipe, "-C", self.folder, "--json", "show", at, "--limit", str(limit)],
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout
        return json.loads(text, parse_float=Decimal, parse_int=lambda n: -0.0 if n == "-0" else int(n))


def by_pipe(project, name, snapshot):
    return project.show(name, snapshot)["sample"]


def by_pyiceberg(project, name, snapshot):
    return project.table(name).scan(snapshot_id=int(snapshot)).to_arrow().to_pylist()


def by_duckdb(project, name, snapshot):
    """DuckDB's own Iceberg reader: it finds the data files by itself."""
    at = project.table(name).metadata_location
    return rows(project.duck.execute(f"SELECT * FROM iceberg_scan('{at}', snapshot_from_id={int(snapshot)})"))


def by_parquet(project, name, snapshot):
    """DuckDB over the bare Parquet files that PyIceberg lists: what a reader without Iceberg sees."""
    files = sorted({f.file.file_path.removeprefix("file://") for f in project.table(name).scan(snapshot_id=int(snapshot)).plan_files()})
    return rows(project.duck.execute("SELECT * FROM read_parquet(?, union_by_name = true, hive_partitioning = false)", [files])) if files else []


def rows(result):
    return result.to_arrow_table().to_pylist()  # through Arrow: DuckDB's own way to Python needs pytz for a timestamptz


ENGINES = {"pipe": by_pipe, "PyIceberg": by_pyiceberg, "DuckDB": by_duckdb, "DuckDB over Parquet": by_parquet}
