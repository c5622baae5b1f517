#!/bin/sh
# Shows that other engines read what pipe wrote: the root example after two runs (500 rows, then 1000 more), and a table of every
# type, partitioned and not, after two replaces. read.py compares; nothing outside a temporary folder is written.
#
#   interop/run.sh PYTHON PIPE
set -eu
[ $# = 2 ] || { echo "usage: $0 PYTHON PIPE" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
pipe=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# project FROM TO FILE...: copies a project's files
project() {
	from=$1 to=$2
	shift 2
	mkdir -p "$to"
	for f; do cp -p "$from/$f" "$to/$f"; done
}

# after RUN FOLDER KEY VALUE: sets a param, runs, and keeps what status says then
after() {
	(
		cd "$2"
		sed "s/$3: *[0-9]*/$3: $4/" params.yaml >params.new
		mv params.new params.yaml
		"$pipe" -q repro >/dev/null
		"$pipe" status --json >"$1.json"
	)
}

project "$here/.." "$work/example" pipeline.yaml params.yaml by_type.sh
after first "$work/example" num_records 500
after second "$work/example" num_records 1000
project "$here/types" "$work/types" pipeline.yaml params.yaml rows.sh
after first "$work/types" rows 25
after second "$work/types" rows 40
"$python" "$here/read.py" "$pipe" "$work/example" "$work/types"
