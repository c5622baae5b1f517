package diag

import "sort"

// Closest gives the candidate that a misspelt word most likely meant, or "" if none is near.
// Near is a Damerau-Levenshtein distance (optimal string alignment) of at most a third of the word's length, and at least one; a word
// of one letter has nothing near.
func Closest(word string, candidates []string) string {
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	limit := max(min(1, len(word)-1), len(word)/3)
	best, found := limit+1, ""
	for _, c := range sorted {
		if d := distance(word, c); d < best {
			best, found = d, c
		}
	}
	return found
}

func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
