"""Makes vectors.json after docs/fingerprint-inputs.md, without any code of pipe: python3 vectors.py > vectors.json"""

import hashlib
import json

tree = {
    "data/a.csv": "abc",
    "data/b b.csv": "",
    "data/sub/c.csv": "id\n1\n",
    "data/sub/naïve \"x\".txt": "é",
    "data-2": "not in data",
    "data/B.csv": "upper case sorts first",
}


def sha(b):
    return "sha256:" + hashlib.sha256(b).hexdigest()


def quote(text):
    out = '"'
    for c in map(ord, text):
        if c in (34, 92):
            out += "\\" + chr(c)
        elif 0x20 <= c <= 0x7E:
            out += chr(c)
        else:
            out += "\\u%04x" % c
    return out + '"'


def listing(heading, names, strip=""):
    text = heading + "\n"
    for n in sorted(names, key=lambda n: n.encode()):
        text += f"{quote(n[len(strip):])} {sha(tree[n].encode())}\n"
    return sha(text.encode("ascii"))


def under(prefix):
    return [n for n in tree if n.startswith(prefix)]


def result(digest, names):
    return {"Digest": digest, "Files": len(names), "Size": sum(len(tree[n].encode()) for n in names)}


want = {
    "data/a.csv": result(sha(b"abc"), ["data/a.csv"]),
    "data/b b.csv": result(sha(b""), ["data/b b.csv"]),
    "data": {**result(listing("pipe directory 1", under("data/"), "data/"), under("data/")), "Dir": True},
    "data/sub": {**result(listing("pipe directory 1", under("data/sub/"), "data/sub/"), under("data/sub/")), "Dir": True},
    "empty": {**result(sha(b"pipe directory 1\n"), []), "Dir": True},
    "data/*.csv": result(
        listing("pipe glob 1", ["data/B.csv", "data/a.csv", "data/b b.csv"]), ["data/B.csv", "data/a.csv", "data/b b.csv"]
    ),
    "data/**/*.csv": result(
        listing("pipe glob 1", [n for n in tree if n.endswith(".csv")]), [n for n in tree if n.endswith(".csv")]
    ),
    "no": {"Missing": True},
    "no/*": {"Missing": True},
    "data/*.parquet": {"Missing": True},
    "data/a.csv/x": {"Missing": True},
}
print(json.dumps({"tree": tree, "want": want}, indent=1, ensure_ascii=True))
