"""Writes vectors.json: tables with their sums and digests, by docs/fingerprint.md alone.

Run as: python vectors.py > vectors.json        with: pip install xxhash==4.1.0
"""

import hashlib
import json
import random
import struct
import sys

import xxhash

M64, M128 = 2**64 - 1, 2**128 - 1


def xxh3(data):
    n = xxhash.xxh3_128_intdigest(data, seed=0)
    return n & M64, n >> 64


def mix_lo(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def mix_hi(x):
    x = (x ^ (x >> 27)) * 0x3C79AC492BA7B653 & M64
    x = (x ^ (x >> 33)) * 0x1C69B3F74AC4AE35 & M64
    return x ^ (x >> 27)


def seal(p):
    lo, hi = p
    hi ^= mix_lo((lo + 0x243F6A8885A308D3) & M64)
    lo ^= mix_hi((hi + 0x13198A2E03707344) & M64)
    hi ^= mix_lo((lo + 0xA4093822299F31D0) & M64)
    return lo, hi


def halves(a, b):
    return (a[0] + b[0]) & M64, (a[1] + b[1]) & M64


CLASS = {"long": "int", "double": "float"}


def klass(t):
    return CLASS.get(t["kind"], t["kind"])


def double(text):
    f = float.fromhex(text)
    return 0x7FF8000000000000 if f != f else struct.unpack("<Q", struct.pack("<d", f))[0]


def value(t, v):
    k = klass(t)
    if k == "boolean":
        return (int(v), int(v))
    if k in ("int", "date", "time", "timestamp", "timestamptz"):
        n = int(v) & M64
        return (n, n)
    if k == "float":
        return (double(v), double(v))
    if k == "decimal":
        return xxh3((int(v) & M128).to_bytes(16, "little"))
    if k == "string":
        return xxh3(v.encode())
    if k == "uuid":
        return xxh3(bytes.fromhex(v.replace("-", "")))
    if k in ("fixed", "binary"):
        return xxh3(bytes.fromhex(v))
    if k == "struct":
        total = (0, 0)
        for f in t["fields"]:
            total = halves(total, cell(f["name"], f["type"], v.get(f["name"])))
        return seal(total)
    if k == "list":
        p = (len(v), 0)
        for e in v:
            p = seal(halves(p, cell("element", t["fields"][0]["type"], e)))
        return seal(p)
    if k == "map":
        n = len(v)
        for key, val in v:
            lo, hi = row(t["fields"], [key, val])
            n = (n + (hi << 64) + lo) & M128
        return seal((n & M64, n >> 64))
    raise ValueError(k)


def cell(name, t, v):
    if v is None:
        return (0, 0)
    k = xxh3((klass(t) + ":" + name).encode())
    lo, hi = value(t, v)
    return mix_lo(lo ^ k[0]), mix_hi(hi ^ k[1])


def row(fields, values):
    total = (0, 0)
    for f, v in zip(fields, values):
        total = halves(total, cell(f["name"], f["type"], v))
    return seal(total)


def table_sum(fields, rows):
    n = 0
    for r in rows:
        lo, hi = row(fields, r)
        n = (n + (hi << 64) + lo) & M128
    return n


def type_text(t):
    if t["kind"] == "decimal":
        return f"decimal({t['precision']},{t['scale']})"
    if t["kind"] == "fixed":
        return f"fixed({t['length']})"
    return t["kind"]


def lines(fields, parent=""):
    out = []
    for f in sorted(fields, key=lambda f: f["name"].encode()):
        name = f["name"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        path = f'{parent}"{name}"'
        out.append(f"column {path} {type_text(f['type'])} {'required' if f.get('required') else 'optional'}\n")
        out += lines(f["type"].get("fields", []), path + ".")
    return out


def table(name, fields, rows):
    n = table_sum(fields, rows)
    text = f"pipe table digest 1\nsum {n:032x}\nrows {len(rows)}\n" + "".join(lines(fields))
    return {
        "name": name,
        "fields": fields,
        "rows": rows,
        "sum": f"1:{n:032x}{len(rows):016x}",
        "digest": "1:" + hashlib.sha256(text.encode()).hexdigest(),
    }


def field(name, kind, *fields, required=False, **args):
    t = {"kind": kind, **args}
    if fields:
        t["fields"] = list(fields)
    return {"name": name, "type": t, "required": required}


def element(kind, *fields, **args):
    return field("element", kind, *fields, **args)


def main():
    r = random.Random(20260101)

    def text(n):
        return "".join(r.choice("abc XYZ09_\"\\é李😀\n") for _ in range(n))

    i64 = [0, 1, -1, 42, 2**63 - 1, -(2**63), 2**53 + 1]
    scalars = {
        "boolean": [True, False],
        "int": [0, 1, -1, 2**31 - 1, -(2**31)],
        "long": i64,
        "float": ["0x0p0", "-0x0p0", "0x1p0", "0x1.8p-3", "nan", "inf", "-inf", "0x1.fffffep127", "0x1p-149"],
        "double": ["0x0p0", "-0x0p0", "0x1p0", "0x1.999999999999ap-4", "nan", "inf", "-inf", "0x1.fffffffffffffp1023", "0x0.0000000000001p-1022"],
        "date": [0, -719162, 2932896, 20454, -1],
        "time": [0, 1, 86399999999, 43200000000],
        "timestamp": [0, -1, 1767225600000006, -62135596800000000, 253402300799999999],
        "timestamptz": [0, -1, 1767225600000006, -62135596800000000, 253402300799999999],
        "uuid": ["00000000-0000-0000-0000-000000000000", "123e4567-e89b-12d3-a456-426614174000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
        "binary": ["", "00", "0001", "ff" * 17, "ab" * 300],
        # every branch of XXH3: 0, 1-3, 4-8, 9-16, 17-128, 129-240, more, and over one block of 1024
        "string": [text(n) for n in (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 33, 64, 100, 128, 129, 200, 240, 241, 500, 1024, 1025, 3000)],
    }
    tables = [
        table("no columns, no rows", [], []),
        table("no columns, three rows", [], [[], [], []]),
        table("no rows", [field("a", "long")], []),
        table("one NULL", [field("a", "long")], [[None]]),
        table("NULL is not the empty string", [field("a", "string")], [[None], [""]]),
        table("a row twice", [field("a", "long")], [["7"], ["7"]]),
        table("a name of every kind", [field('q"uo\\te\nline é', "string", required=True), field("", "long")], [["x", "1"], ["y", None]]),
        table("names sort by bytes", [field("ｚ", "int"), field("😀", "int"), field("Z", "int"), field("a", "int")], [["1", "2", "3", "4"]]),
        table("a new column of NULLs", [field("a", "long"), field("b", "string")], [["1", None], ["2", None]]),
        table("the same without it", [field("a", "long")], [["1"], ["2"]]),
        table("swapped columns", [field("a", "long"), field("b", "long")], [["1", "2"], ["2", "1"], ["3", "3"]]),
    ]
    for kind, values in scalars.items():
        vs = [str(v) if isinstance(v, int) and kind != "boolean" else v for v in values]
        tables.append(table(kind, [field("v", kind)], [[v] for v in vs] + [[None]]))
    tables += [
        table("decimal(38,0)", [field("v", "decimal", precision=38, scale=0)], [[str(v)] for v in (0, 1, -1, 10**38 - 1, -(10**38) + 1, 2**64, -(2**64))] + [[None]]),
        table("decimal(9,2)", [field("v", "decimal", precision=9, scale=2)], [["0"], ["-12345"], ["999999999"]]),
        table("fixed(3)", [field("v", "fixed", length=3)], [["000000"], ["ff00aa"], [None]]),
        table("list", [field("v", "list", element("long"))], [[None], [[]], [[None]], [[None, None]], [["1", "2"]], [["2", "1"]], [["1", None, "2"]]]),
        table(
            "struct",
            [field("v", "struct", field("a", "long"), field("b", "string", required=True))],
            [[None], [{"a": None, "b": ""}], [{"a": "1", "b": "x"}], [{"a": None, "b": "x"}]],
        ),
        table("struct of NULLs", [field("v", "struct", field("a", "long"), field("b", "string"))], [[None], [{"a": None, "b": None}]]),
        table(
            "map",
            [field("v", "map", field("key", "string", required=True), field("value", "double"))],
            [[None], [[]], [[["a", "0x1p0"]]], [[["a", None]]], [[["a", "0x1p0"], ["b", "0x1p1"]]], [[["b", "0x1p1"], ["a", "0x1p0"]]]],
        ),
        table(
            "deep",
            [
                field("id", "long", required=True),
                field(
                    "v",
                    "list",
                    element(
                        "struct",
                        field("m", "map", field("key", "int", required=True), field("value", "list", element("uuid"))),
                        field("d", "date"),
                    ),
                ),
            ],
            [
                ["1", [{"m": [["1", [scalars["uuid"][1], None]], ["2", []]], "d": "20454"}, None, {"m": None, "d": None}]],
                ["2", [{"m": [], "d": "-1"}]],
                ["3", []],
                ["4", None],
            ],
        ),
    ]
    rows = []
    for i in range(500):
        rows.append([f"{r.getrandbits(128):032x}", str(r.randrange(-5000, 5000)), r.choice(["login", "click", "purchase", None]), str(r.randrange(2**50)), None if r.random() < 0.2 else r.random().hex()])
    fields = [field("event_id", "string", required=True), field("user_id", "int"), field("event_type", "string"), field("at", "timestamp"), field("amount", "double")]
    tables.append(table("events", fields, rows))

    prims = {
        "mix": [{"x": f"{x:016x}", "lo": f"{mix_lo(x):016x}", "hi": f"{mix_hi(x):016x}"} for x in (0, 1, 2**63, M64, 0x0123456789ABCDEF)],
        "seal": [{"in": f"{h:016x}{lo:016x}", "out": "{1:016x}{0:016x}".format(*seal((lo, h)))} for lo, h in ((0, 0), (1, 0), (0, 1), (M64, M64), (0x0123456789ABCDEF, 0xFEDCBA9876543210))],
    }
    out = ['{"mix": [\n', ",\n".join(json.dumps(x) for x in prims["mix"]), '\n], "seal": [\n', ",\n".join(json.dumps(x) for x in prims["seal"]), '\n], "tables": [\n']
    out += [",\n".join(json.dumps(t) for t in tables), "\n]}\n"]
    sys.stdout.write("".join(out))


main()
