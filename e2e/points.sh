#!/bin/sh
# The promises of the README, one by one, on a fresh clone of what is committed here. Needs Go, git and a C compiler.
#
#   sh e2e/points.sh            E2E_TEST=1 also runs `make test` in the clone, as the README does
#
# Each promise is a few checks; the last line counts them, and the status is 1 if one failed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

is() { # WHAT GOT WANT
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		echo "  ok    $1"
	else
		failed=$((failed + 1))
		printf '  WRONG %s\n    got  %s\n    want %s\n' "$1" "$2" "$3"
	fi
}
has() { # WHAT TEXT PART
	case $2 in
	*"$3"*) is "$1" yes yes ;;
	*) is "$1" "$2" "something with: $3" ;;
	esac
}
same() { # WHAT FILE FILE
	if cmp -s "$2" "$3"; then is "$1" yes yes; else is "$1" "$(diff "$2" "$3")" 'equal files'; fi
}
get() { "$work/check" "$1"; }
rows() { pipe --json show "$1" --limit 0 | get rows; }
head_of() { pipe --json show "$1" --limit 0 | get snapshot; }
result() { get "stages.$1.result" <"$work/run.json"; }
repro() { pipe -q --json repro "$@" >"$work/run.json"; }
snapshots() { find .pipe/warehouse/prod/events/metadata -name 'snap-*.avro' | wc -l | tr -d ' '; }
records() { sed "s/num_records: *[0-9]*/num_records: $1/" params.yaml >"$work/params" && cat "$work/params" >params.yaml; }
commit() { git add -A && git -c user.name=e2e -c user.email=e2e@example.org commit -q -m "$1"; }

git clone -q "$root" "$work/pipe"
cd "$work/pipe"
(cd "$root" && go build -o "$work/check" ./e2e/check)

echo '0. clone, then one command'
go run ./cmd/pipe repro >"$work/said" 2>"$work/talk"
has 'go run ./cmd/pipe repro publishes both tables' "$(cat "$work/said")" 'prod.events'
GOBIN=$work/bin go install ./cmd/pipe
PATH=$work/bin:$PATH
export PATH
is 'prod.events has 500 rows' "$(rows prod.events)" 500
is 'prod.events_by_type has a row for each type' "$(rows prod.events_by_type)" 4
is 'and counts them all' "$(pipe --json show prod.events_by_type --limit 9 | tr ',{}' '\n\n\n' | awk -F: '/"n"/ {s += $2} END {print s}')" 500
if [ -n "${E2E_TEST:-}" ]; then make test; fi
git check-ignore -q pipeline.lock && is 'pipeline.lock can be committed' ignored tracked
commit 'first run'
first=$(head_of prod.events) first_types=$(head_of prod.events_by_type)

echo '1. a second run does nothing'
cp pipeline.lock "$work/lock"
before=$(find .pipe/warehouse -type f | sort)
said=$(pipe repro 2>&1)
is 'it says so in one line' "$said" 'Up to date: 2 stages.'
same 'pipeline.lock keeps every byte' pipeline.lock "$work/lock"
is 'no file of a table is made' "$(find .pipe/warehouse -type f | sort)" "$before"

echo '2. a changed param'
records 1000
why=$(pipe status --why)
has 'status names the leaf' "$why" 'data.num_records 500 -> 1000'
is 'what hangs below is pending' "$(pipe --json status | get stages.events_by_type.status)" pending
repro
is 'repro appends 1000 rows' "$(get stages.events.outs.0.added <"$work/run.json")" 1000
is '1500 rows at the head' "$(rows prod.events)" 1500
is '500 rows at the earlier snapshot' "$(rows "prod.events@$first")" 500
second=$(head_of prod.events) second_types=$(head_of prod.events_by_type)

echo '3. back to the first run'
made=$(snapshots)
git checkout -q params.yaml pipeline.lock
repro
is 'nothing is generated' "$(result events)" 'up to date'
is 'no snapshot is made' "$(snapshots)" "$made"
is 'the head stays' "$(head_of prod.events)" "$second"
is 'status says ahead' "$(pipe --json status | get stages.events.outs.0.head)" ahead
pipe checkout >/dev/null 2>&1
is 'pipe checkout moves it back' "$(head_of prod.events) $(head_of prod.events_by_type)" "$first $first_types"
records 1000
repro
is 'forward again: the old rows are reused' "$(result events) $(head_of prod.events)" "reused $second"
commit 'second run'
git -c user.name=e2e -c user.email=e2e@example.org revert --no-edit HEAD >/dev/null
repro
is 'after git revert the heads go back' "$(head_of prod.events) $(head_of prod.events_by_type)" "$first $first_types"
is 'and nothing is generated' "$(result events) $(snapshots)" "up to date $made"
same 'with the lock of the first run' pipeline.lock "$work/lock"

echo '4. what does not count'
printf '# a comment\n' >>pipeline.yaml
said=$(pipe repro 2>&1)
is 'a comment' "$said" 'Up to date: 2 stages.'
awk '/^data:/ {data = 1; print; next} data && /^ / {lines[++n] = $0; next} data {for (; n; n--) print lines[n]; data = 0} {print} END {for (; n; n--) print lines[n]}' params.yaml >"$work/params"
cmp -s params.yaml "$work/params" && is 'keys are reordered' no yes
cat "$work/params" >params.yaml
said=$(pipe repro 2>&1)
is 'reordered keys' "$said" 'Up to date: 2 stages.'
touch by_type.sh
said=$(pipe repro 2>&1)
is 'a touched file' "$said" 'Up to date: 2 stages.'
cat >>pipeline.yaml <<'END'
  listing:
    cmd: sort "$PIPE_IN_PROD_EVENTS_BY_TYPE" > listing.csv
    deps: [{table: prod.events_by_type, format: csv}]
    outs: [listing.csv]
END
repro
is 'a new stage runs' "$(result listing)" ran
printf '\n# another line\n' >>by_type.sh
repro
is 'code that gives equal rows' "$(result events_by_type)" same
is 'no new snapshot' "$(head_of prod.events_by_type)" "$first_types"
is 'nothing below it runs' "$(result listing)" 'up to date'

echo '5. without a lock'
cp pipeline.lock "$work/lock"
git checkout -q pipeline.yaml by_type.sh
rm pipeline.lock listing.csv
repro
is 'all is reused' "$(result events) $(result events_by_type)" 'reused reused'
is 'the heads stay' "$(head_of prod.events) $(head_of prod.events_by_type)" "$first $first_types"
is 'no snapshot is made, again' "$(snapshots)" "$made"
git checkout -q pipeline.lock
said=$(pipe repro 2>&1)
is 'the lock of git is up to date' "$said" 'Up to date: 2 stages.'

echo '6. kill -9 at any moment'
cd "$root"
if go run ./e2e/soak -project "$work/pipe" -pipe "$work/bin/pipe" -kills "${E2E_KILLS:-8}"; then
	is 'the same rows, digests and lock as an undisturbed twin' yes yes
else
	is 'the same rows, digests and lock as an undisturbed twin' no yes
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
