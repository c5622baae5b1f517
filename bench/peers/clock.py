"""What the Python peers share: the rows in memory, a clock around the write alone, and the line of JSON that ../pqwrite prints too."""

import glob
import json
import os
import resource
import time

import pyarrow as pa


def events(file):
    with pa.OSFile(file) as f:
        return pa.ipc.open_file(f).read_all()


def usage():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime, u.ru_maxrss / 1024


class Clock:
    def __enter__(self):
        self.cpu, self.before = usage()
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.wall = time.perf_counter() - self.began
        cpu, self.rss = usage()
        self.cpu = cpu - self.cpu

    def say(self, rows, folder):
        files = glob.glob(f"{folder}/**/*.parquet", recursive=True)
        print(json.dumps({"rows": rows, "wall": self.wall, "cpu": self.cpu, "rss_before": self.before, "rss": self.rss,
                          "out_mb": sum(os.path.getsize(f) for f in files) / 2**20}))
