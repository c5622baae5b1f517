"""Writes what Python's csv module and DuckDB make of the files here; the tests compare it with the reader.

Run here as: python expected.py        with: pip install duckdb==1.5.6, and the zstd program
The files of messy/ come from csvkit 2.2.0 (examples/), MIT licence, see messy/LICENSE.
"""

import csv
import decimal
import hashlib
import io
import json
import pathlib
import subprocess

import duckdb

HERE = pathlib.Path(__file__).parent


def text_of(path):
    data = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout if path.suffix == ".zst" else path.read_bytes()
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None, {"line": data[: data.index(b"\0")].count(b"\n") + 1, "what": "NUL"}
    try:
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"), None
    except UnicodeDecodeError as e:
        return None, {"line": data[: e.start].count(b"\n") + 1, "what": "UTF-8"}


def rows_of(path):
    """The header and the rows as text, or the lines of the records whose number of fields is not the header's."""
    text, error = text_of(path)
    if error:
        return {"errors": [error]}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header, rows, errors, last = None, [], [], 0
    for record in reader:
        first, last = last + 1, reader.line_num
        if not record:
            continue
        if header is None:
            header = record
            if "" in header or len(set(header)) < len(header):
                return {"errors": [{"line": first, "what": "name"}]}
        elif len(record) != len(header):
            errors.append({"line": first, "what": f"{len(header)} fields, got {len(record)}"})
        else:
            rows.append(record)
    return {"errors": errors} if errors else {"header": header, "rows": rows}


def messy():
    out = {p.name: rows_of(p) for p in sorted((HERE / "messy").iterdir()) if ".csv" in p.name}
    ks = out["ks_1033_data.csv.zst"]
    sql = f"select count(*), count(distinct t) from read_csv('{HERE}/messy/ks_1033_data.csv.zst', all_varchar=true, header=true) t"
    count, distinct = duckdb.sql(sql).fetchone()
    rows = ks.pop("rows")
    assert count == len(rows) and distinct == len({tuple(r) for r in rows})
    joined = "".join("".join(f + "\x1f" for f in r) + "\x1e" for r in rows)
    ks["count"], ks["sha256"] = count, hashlib.sha256(joined.encode()).hexdigest()
    return out


TYPES = {
    "b": "boolean", "i": "integer", "l": "bigint", "f": "float", "d": "double", "n": "decimal(38,10)", "day": "date", "t": "time",
    "ts": "timestamp", "tz": "timestamptz", "s": "varchar", "u": "uuid", "list": "bigint[]", "st": "struct(x bigint, y varchar)",
}
ROWS = [
    (True, 1, 2**63 - 1, 1.5, 0.1, "1234567890123456789012345678.0123456789", "2025-01-02", "03:04:05.000006", "2025-01-02 03:04:05.000006",
     "2025-01-02 03:04:05+01:00", 'a "quoted", text', "123e4567-e89b-12d3-a456-426614174000", [1, None, 3], {"x": 1, "y": "é"}),
    (False, -(2**31), -(2**63), -3.4028234663852886e38, 5e-324, "-0.0000000001", "1582-10-15", "23:59:59.999999", "1970-01-01 00:00:00",
     "1999-12-31 23:59:59.999999-11:30", "two\nlines\r\nhere", "ffffffff-ffff-ffff-ffff-ffffffffffff", [], {"x": None, "y": ""}),
    (None,) * 14,
    (True, 0, 9007199254740993, 1e-45, 1.7976931348623157e308, "0", "9999-12-31", "00:00:00", "9999-12-31 23:59:59.999999",
     "2000-02-29 00:00:00+00", "", "00000000-0000-0000-0000-000000000000", [-1], {"x": -1, "y": "\t\\"}),
]


def python_line(row):
    """The row as this package documents its text, numbers exact."""
    def value(v):
        return v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)

    parts = []
    for (name, kind), v in zip(TYPES.items(), row):
        if kind.startswith("decimal") and v is not None:
            parts.append(f'"{name}": {decimal.Decimal(v):f}')
        else:
            parts.append(f'"{name}": ' + json.dumps(v, ensure_ascii=False))
    return "{" + ", ".join(parts) + "}\n"


def engines():
    (HERE / "types.python.jsonl").write_text("".join(map(python_line, ROWS)), newline="")
    con = duckdb.connect()
    con.execute("set timezone='UTC'")
    con.execute(f"create table t ({', '.join(f'{n} {k}' for n, k in TYPES.items())})")
    con.executemany(f"insert into t values ({', '.join('?' * len(TYPES))})", ROWS)
    con.execute(f"copy t to '{HERE}/types.duckdb.jsonl' (format json)")
    columns = ", ".join(f"to_json({n}) as {n}" if k.endswith("[]") or k.startswith("struct") else n for n, k in TYPES.items())
    con.execute(f"copy (select {columns} from t) to '{HERE}/types.duckdb.csv' (header, force_quote (s))")


(HERE / "messy" / "expected.json").write_text(json.dumps(messy(), ensure_ascii=False, indent=0) + "\n")
engines()
