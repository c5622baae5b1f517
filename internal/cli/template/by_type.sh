#!/bin/sh
# Counts the events of each type: reads the table as CSV with a header, writes another one.
set -eu
awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "event_type") column = i; next }
	{ n[$column]++ }
	END { print "event_type,n"; for (t in n) print t "," n[t] }
' "$PIPE_IN_DEMO_EVENTS" > "$PIPE_OUT_DEMO_EVENTS_BY_TYPE/counts.csv"
