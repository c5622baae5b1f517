"""Makes vectors.json after docs/fingerprint-inputs.md, without any code of pipe: python3 vectors.py > vectors.json"""

import hashlib
import json

SHORT = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 34: '\\"', 92: "\\\\"}


def quote(text):
    out = '"'
    for c in map(ord, text):
        if c in SHORT:
            out += SHORT[c]
        elif 0x20 <= c <= 0x7E:
            out += chr(c)
        elif c < 0x80:
            out += "\\x%02x" % c
        elif c < 0x10000:
            out += "\\u%04x" % c
        else:
            out += "\\U%08x" % c
    return out + '"'


def vector(name, *inputs):
    text = "pipe fingerprint 1\n" + "".join(f"{k} {quote(n)} {quote(v)}\n" for k, n, v in inputs)
    return {
        "name": name,
        "inputs": [{"kind": k, "name": n, "value": v} for k, n, v in inputs],
        "text": text,
        "sum": "1:" + hashlib.sha256(text.encode("ascii")).hexdigest(),
    }


empty_file = "sha256:" + hashlib.sha256(b"").hexdigest()
vectors = [
    vector("no inputs"),
    vector("one leaf of a definition", ("def", "use", "generate")),
    vector("empty name and value", ("def", "", "")),
    vector(
        "one of each kind",
        ("def", "cmd", "./by_type.sh"),
        ("def", "out prod.events mode", "append"),
        ("dep", "by_type.sh", empty_file),
        ("param", "report.top", "10"),
        ("table", "prod.users", "1:00ff"),
        ("env", "TOKEN", "sha256:" + hashlib.sha256(b"x").hexdigest()),
        ("parent", "prod.events", "none"),
    ),
    vector("quotes, backslashes and line ends", ("def", 'say "hi"', 'a\\b\n\tc\r\n"'), ("dep", "a b", " ")),
    vector("control characters", ("def", "\x00\x01\x07\x08\x0b\x0c\x1b\x1f", "\x7f")),
    vector("beyond ASCII", ("dep", "naïve/日本語.csv", "é\u0301"), ("param", "party", "🎉")),
    vector("characters that some Unicode versions print and others do not", ("param", "a", "\u0378\u061c\u200b\u2028\ufeff\ufffd\U0001cc00\U0001fae9")),
    vector("a value that looks like more lines", ("def", "cmd", 'x"\ndef "with" "y')),
]
print(json.dumps(vectors, indent=1, ensure_ascii=True))
