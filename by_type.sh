#!/bin/sh
# Counts the events of each type. The CSV's columns come in the order of the schema, and the three before the type hold no comma, so
# that awk may cut at commas; the payload, which does hold some, is last.
set -eu
{
  echo event_type,n
  awk -F, 'NR > 1 { n[$3]++ } END { for (t in n) printf "%s,%d\n", t, n[t] }' "$PIPE_IN_PROD_EVENTS" |
    sort -t, -k2,2nr -k1,1 | head -n "$1"
} > "$PIPE_OUT_PROD_EVENTS_BY_TYPE/part.csv"
