"""Writes vectors.json: rows that the definition of package generate gives, by a second implementation of it.

    pip install xxhash==3.5.0 && python vectors.py > vectors.json

A stream of random numbers belongs to one column (its names from the table's column down, NUL between them), one chunk of 8192 rows
and one purpose. It is Go's PCG (128-bit LCG, DXSM output), seeded with the two halves of the 128-bit XXH3 of
"pipe generate 1\\0" + purpose + "\\0" + seed + chunk (8 bytes each, little-endian) + column.
"""

import datetime
import json

import xxhash

CHUNK = 8192
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


class Stream:
    def __init__(self, seed, chunk, path, what="values"):
        text = b"pipe generate 1\0" + what.encode() + b"\0"
        text += (seed & M64).to_bytes(8, "little") + chunk.to_bytes(8, "little") + path.encode()
        self.state = xxhash.xxh3_128(text).intdigest()

    def u64(self):
        mul = 2549297995355413924 << 64 | 4865540595714422341
        inc = 6364136223846793005 << 64 | 1442695040888963407
        self.state = (self.state * mul + inc) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64

    def below(self, n):
        if n & (n - 1) == 0:
            return self.u64() & (n - 1)
        while True:
            wide = self.u64() * n
            if wide & M64 >= (1 << 64) % n:
                return wide >> 64

    def unit(self):
        return (self.u64() >> 11) * 2.0**-53


def uuid(s):
    a, b = s.u64(), s.u64()
    a = a & ~0xF000 | 0x4000
    b = b & ~(3 << 62) | 2 << 62
    h = f"{a:016x}{b:016x}"
    return "-".join([h[:8], h[8:12], h[12:16], h[16:20], h[20:]])


def weighted(weights):
    names = sorted(weights)
    total, shares = 0.0, []
    for n in names:
        total += weights[n]
        shares.append(total)

    def pick(s):
        u = s.unit()
        return next(n for n, share in zip(names, shares) if u < share / total or n == names[-1])

    return pick


def micros(text):
    t = datetime.datetime.fromisoformat(text)
    return (t - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


EPOCH = datetime.date(1970, 1, 1)
COLUMNS = {
    "id": uuid,
    "user": lambda s: 1000 + s.below(4001),
    "wide": lambda s: -(2**63) + s.below(2**64),
    "skewed": lambda s: -(2**63) + s.below(3 * 2**62),
    "eight": lambda s: 1 + s.below(8),
    "price": lambda s: f"{100 + s.below(49901):03d}",
    "score": lambda s: -1.5 + s.unit() * 4.0,
    "active": lambda s: s.unit() < 0.3,
    "kind": lambda s: ["login", "click", "logout"][s.below(3)],
    "plan": weighted({"paid": 2, "free": 7.5, "never": 0.5}),
    "at": lambda s: micros("2025-01-01") + s.below(micros("2025-02-01") - micros("2025-01-01")),
    "day": lambda s: (EPOCH + datetime.timedelta(-1 + s.below(400))).isoformat(),
}


def cents(text):
    return text[:-2] + "." + text[-2:]


def column(name, path, seed, rows):
    """Values of the given row numbers."""
    out = {}
    for chunk in sorted({r // CHUNK for r in rows}):
        s = Stream(seed, chunk, path)
        values = [COLUMNS[name](s) for _ in range(max(r for r in rows if r // CHUNK == chunk) % CHUNK + 1)]
        for r in rows:
            if r // CHUNK == chunk:
                out[r] = values[r % CHUNK]
    return [out[r] for r in rows]


def nulls(path, seed, rows, p):
    out = []
    for r in rows:
        s = Stream(seed, r // CHUNK, path, "nulls")
        out.append([s.unit() < p for _ in range(r % CHUNK + 1)][-1])
    return out


def main():
    rows = [0, 1, 2, 3, 4, 5, 6, 7, 8191, 8192, 8193, 20000]
    vectors = []
    for seed in [0, 42, -7]:
        columns = {n: column(n, n, seed, rows) for n in COLUMNS}
        columns["price"] = [cents(v) for v in columns["price"]]
        columns["active"] = [str(v).lower() for v in columns["active"]]
        columns["n"] = [10 + r for r in rows]
        columns["user_or_null"] = [
            None if null else v
            for v, null in zip(column("user", "user_or_null", seed, rows), nulls("user_or_null", seed, rows, 0.25))
        ]
        ids = column("id", "doc\0id", seed, rows)
        price = column("price", "doc\0in\0price", seed, rows)
        kind = column("kind", "doc\0in\0kind", seed, rows)
        dead = nulls("doc\0in\0kind", seed, rows, 0.5)
        columns["doc"] = [
            '{"id":%s,"in":{"kind":%s,"price":%s}}' % (json.dumps(i), "null" if d else json.dumps(k), cents(p))
            for i, p, k, d in zip(ids, price, kind, dead)
        ]
        vectors.append({"seed": seed, "columns": {n: [None if v is None else str(v) for v in vs] for n, vs in columns.items()}})
    print(json.dumps({"rows": rows, "vectors": vectors}, indent=1))


main()
