#!/usr/bin/env python3
"""Compares what pipe, PyIceberg and DuckDB read from the tables of two projects, at the head and at the past snapshot.

    read.py PIPE EXAMPLE TYPES          the folders that run.sh made

Ends with the line `N passed, N failed`, and with status 1 if one failed.
"""

import collections
import sys
import traceback

import canon
from engines import ENGINES, Project

results = collections.Counter()


def check(what, ok, more=""):
    results[ok] += 1
    print(("ok    " if ok else "WRONG ") + what + ("" if ok or not more else f": {more}"))


def same_rows(project, run, name, snapshot, rows):
    """Every engine gives the same rows of one snapshot, as many as pipe says. Gives them back as PyIceberg's values."""
    schema = project.table(name).scan(snapshot_id=int(snapshot)).projection()
    texts, values = {}, {}
    for engine, read in ENGINES.items():
        what = f"{name} after the {run} run, {rows} rows, by {engine}"
        try:
            values[engine] = read(project, name, snapshot)
            texts[engine] = sorted(canon.row(schema, r) for r in values[engine])
        except Exception:
            check(what, False, traceback.format_exc())
            continue
        got, want = texts[engine], texts.get("pipe", [])
        check(what, len(got) == rows and got == want, difference(want, got, rows))
    return values["PyIceberg"]


def difference(want, got, rows):
    if len(got) != rows:
        return f"{len(got)} rows"
    lost, more = collections.Counter(want) - collections.Counter(got), collections.Counter(got) - collections.Counter(want)
    return f"{sum(lost.values())} rows differ, the first:\n  pipe  {min(lost, default='')}\n  other {min(more, default='')}"


def head(project, name, snapshot):
    """Where the lock says that the head is, every engine finds it without being told."""
    table = project.table(name)
    check(f"{name}: the head of PyIceberg", str(table.current_snapshot().snapshot_id) == snapshot)
    check(f"{name}: the head of pipe", project.show(name, limit=0)["snapshot"] == snapshot)
    n = project.duck.execute(f"SELECT count(*) FROM iceberg_scan('{table.metadata_location}')").fetchone()[0]
    at = len(table.scan().to_arrow())
    check(f"{name}: as many rows at the head of DuckDB", n == at, f"{n}, want {at}")


def every_table(project):
    seen = {}
    for run in ("first", "second"):
        for name, snapshot, rows in project.status(run):
            seen[run, name] = same_rows(project, run, name, snapshot, rows)
    for name, snapshot, _ in project.status("second"):
        head(project, name, snapshot)
    return seen


def example(project):
    seen = every_table(project)
    counts = {(run, name): len(rows) for (run, name), rows in seen.items()}
    check("prod.events: 500 rows, then 1500", (counts["first", "prod.events"], counts["second", "prod.events"]) == (500, 1500), str(counts))
    for run in ("first", "second"):
        events, types = seen[run, "prod.events"], seen[run, "prod.events_by_type"]
        found = collections.Counter(e["event_type"] for e in events)
        check(f"{run} run: the four types of events and no other", set(found) == {"login", "click", "purchase", "logout"}, str(found))
        check(f"{run} run: no event_id twice", len({e["event_id"] for e in events}) == len(events))
        check(f"{run} run: user_id from 1000 to 5000", all(1000 <= e["user_id"] <= 5000 for e in events))
        by_type = {r["event_type"]: r["n"] for r in types}
        check(f"{run} run: events_by_type is GROUP BY event_type", by_type == dict(found), f"{by_type}, want {dict(found)}")
    before = {e["event_id"]: e for e in seen["first", "prod.events"]}
    after = {e["event_id"]: e for e in seen["second", "prod.events"]}
    check("the second run added rows and changed none", all(after.get(i) == e for i, e in before.items()))


def main():
    pipe, example_folder, types_folder = sys.argv[1:]
    example(Project(pipe, example_folder))
    every_table(Project(pipe, types_folder))
    print(f"{results[True]} passed, {results[False]} failed")
    sys.exit(1 if results[False] or not results[True] else 0)


if __name__ == "__main__":
    main()
