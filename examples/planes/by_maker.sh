#!/bin/sh
# by_maker.sh LEAST: counts the planes on standard input by maker. The columns stand in the order of the table's schema.
echo manufacturer,planes,seats,without_year,without_speed
exec awk -v least="$1" 'BEGIN {FS = OFS = ","}
	NR > 1 {planes[$4]++; seats[$4] += $7; if ($2 == "") year[$4]++; if ($8 == "") speed[$4]++}
	END {for (m in planes) if (planes[m] >= least) print m, planes[m], seats[m], year[m] + 0, speed[m] + 0}'
