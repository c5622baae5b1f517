"""Brings one value, as any engine gives it, to one text: by the Iceberg type, so that equal values of one column are equal texts."""

import base64
import datetime
import decimal
import math
import struct
import uuid
from decimal import Decimal

from pyiceberg import types as t

WIDE = decimal.Context(prec=60)  # the default of 28 digits cuts a decimal(38, 0)


def row(schema, values):
    """A row as a text. The columns must be exactly the schema's."""
    names = [f.name for f in schema.fields]
    if sorted(values) != sorted(names):
        raise ValueError(f"columns {sorted(values)}, want {sorted(names)}")
    return "(" + ", ".join(f"{n}={value(f.field_type, values[n])}" for n, f in zip(names, schema.fields)) + ")"


def value(kind, v):
    if v is None:
        return "NULL"
    if isinstance(kind, t.StructType):
        return row(kind, v)
    if isinstance(kind, t.ListType):
        return "[" + ", ".join(value(kind.element_type, x) for x in v) + "]"
    if isinstance(kind, t.MapType):
        return "{" + ", ".join(sorted(f"{value(kind.key_type, k)}: {value(kind.value_type, x)}" for k, x in pairs(v))) + "}"
    return scalar(kind, v)


def pairs(v):
    """The entries of a map: a dict, a list of pairs, or a list of {key, value}."""
    if isinstance(v, dict):
        return v.items()
    return [(e["key"], e["value"]) if isinstance(e, dict) else e for e in v]


def scalar(kind, v):
    if isinstance(kind, t.BooleanType):
        if not isinstance(v, bool):
            raise ValueError(f"{v!r} for a boolean")
        return "true" if v else "false"
    if isinstance(kind, (t.IntegerType, t.LongType)):
        return str(int(v))
    if isinstance(kind, t.FloatType):
        return repr(struct.unpack("f", struct.pack("f", float(v)))[0])
    if isinstance(kind, t.DoubleType):
        f = float(v)
        return "NaN" if math.isnan(f) else repr(f)
    if isinstance(kind, t.DecimalType):
        return str(Decimal(str(v)).quantize(Decimal(1).scaleb(-kind.scale), context=WIDE))
    if isinstance(kind, t.DateType):
        return v if isinstance(v, str) else v.isoformat()
    if isinstance(kind, t.TimeType):
        return (datetime.time.fromisoformat(v) if isinstance(v, str) else v).isoformat("microseconds")
    if isinstance(kind, t.TimestampType):
        return moment(v).isoformat(" ", "microseconds")
    if isinstance(kind, t.TimestamptzType):
        return moment(v).astimezone(datetime.timezone.utc).isoformat(" ", "microseconds")
    if isinstance(kind, t.UUIDType):
        return str(uuid.UUID(bytes=v) if isinstance(v, bytes) else uuid.UUID(str(v)))
    if isinstance(kind, (t.BinaryType, t.FixedType)):
        return binary(v).hex()
    return repr(v)


def moment(v):
    return datetime.datetime.fromisoformat(v.replace("Z", "+00:00")) if isinstance(v, str) else v


def binary(v):
    """Bytes, or a text for them: \\x and hex digits as in CSV, or base64 as in JSON."""
    if not isinstance(v, str):
        return bytes(v)
    return bytes.fromhex(v[2:]) if v.startswith("\\x") else base64.b64decode(v, validate=True)
