"""Writes every.parquet, every.arrow and stream.arrow as a program of a user's would: pip install pyarrow==24.0.0 && python make.py"""

import datetime
import decimal
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

dec = [decimal.Decimal("1.25"), None, decimal.Decimal("-3.00"), decimal.Decimal("0.01")]
moment = [datetime.datetime(2025, 1, 2, 3, 4, 5, 6)] * 4
table = pa.table({
    "dict": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "large": pa.array(["x", None, "y", "z"], pa.large_string()),
    "view": pa.array(["x", None, "y", "longer than twelve bytes"], pa.string_view()),
    "i8": pa.array([1, 2, None, -4], pa.int8()),
    "u32": pa.array([1, 2, 3, 4294967295], pa.uint32()),
    "f32": pa.array([1.5, None, 2, 3], pa.float32()),
    "half": pa.array([1.5, None, 2, 3], pa.float16()),
    "dec": pa.array(dec, pa.decimal128(9, 2)),
    "ns": pa.array(moment, pa.timestamp("ns")),
    "utc": pa.array([0, 1, None, 2], pa.timestamp("ms", "UTC")),
    "time": pa.array([datetime.time(1, 2, 3)] * 4, pa.time32("s")),
    "list": pa.array([[1, 2], None, [], [None]], pa.large_list(pa.int32())),
    "map": pa.array([[("k", 1)], None, [], [("z", None)]], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 3, "b": None}]),
    "uuid": pa.array([uuid.UUID(int=1).bytes] * 4, pa.uuid()),
    "bytes": pa.array([b"x", None, b"", b"yz"], pa.large_binary()),
})
pq.write_table(table, "every.parquet")
with pa.ipc.new_file("every.arrow", table.schema) as w:
    w.write_table(table)
with pa.ipc.new_stream("stream.arrow", table.schema) as w:
    w.write_table(table)
