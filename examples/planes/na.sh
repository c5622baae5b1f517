#!/bin/sh
# na.sh FILE: the CSV with every field that is NA made empty, which is NULL. The file has no quotes, so that a comma always parts two
# fields.
exec awk 'BEGIN {FS = OFS = ","} {for (i = 1; i <= NF; i++) if ($i == "NA") $i = ""; print}' "$1"
