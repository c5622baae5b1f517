package iceberg

import (
	"strconv"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// tally counts what a snapshot adds, drops and holds, for its summary. A total that cannot be known is left out.
type tally struct {
	counts map[string]int64
}

// The counts of a summary, in the format's words.
const (
	totalRecords = "total-records"
	totalFiles   = "total-data-files"
	totalSize    = "total-files-size"
	totalDeletes = "total-delete-files"
	totalPos     = "total-position-deletes"
	totalEq      = "total-equality-deletes"
)

var totals = []string{totalRecords, totalFiles, totalSize, totalDeletes, totalPos, totalEq}

func newTally(added []ice.DataFile) *tally {
	t := &tally{counts: map[string]int64{}}
	for _, name := range totals {
		t.counts[name] = 0
	}
	for _, f := range added {
		t.counts["added-data-files"]++
		t.counts["added-records"] += f.Count()
		t.counts["added-files-size"] += f.FileSizeBytes()
	}
	t.counts[totalRecords] = t.counts["added-records"]
	t.counts[totalFiles] = t.counts["added-data-files"]
	t.counts[totalSize] = t.counts["added-files-size"]
	return t
}

// onto adds the totals of the parent. Engines may leave some out; rows and files can then be counted in the manifests.
func (t *tally) onto(parent *table.Snapshot, manifests []ice.ManifestFile) {
	var said ice.Properties
	if parent.Summary != nil {
		said = parent.Summary.Properties
	}
	rows, files := int64(0), int64(0)
	for _, m := range manifests {
		if m.ManifestContent() == ice.ManifestContentData {
			rows += m.AddedRows() + m.ExistingRows()
			files += int64(m.AddedDataFiles()) + int64(m.ExistingDataFiles())
		}
	}
	for _, name := range totals {
		n, err := strconv.ParseInt(said[name], 10, 64)
		switch {
		case err == nil:
			t.counts[name] += n
		case name == totalRecords && rows >= 0:
			t.counts[name] += rows
		case name == totalFiles && files >= 0:
			t.counts[name] += files
		default:
			delete(t.counts, name)
		}
	}
}

// drop counts a file of the parent that is gone.
func (t *tally) drop(f ice.DataFile) {
	t.counts["removed-files-size"] += f.FileSizeBytes()
	switch f.ContentType() {
	case ice.EntryContentData:
		t.counts["deleted-data-files"]++
		t.counts["deleted-records"] += f.Count()
	case ice.EntryContentPosDeletes:
		t.counts["removed-delete-files"]++
		t.counts["removed-position-deletes"] += f.Count()
	case ice.EntryContentEqDeletes:
		t.counts["removed-delete-files"]++
		t.counts["removed-equality-deletes"] += f.Count()
	}
}

// properties gives the summary: the counts, which win, and what the caller says.
func (t *tally) properties(more map[string]string) ice.Properties {
	out := ice.Properties{}
	for k, v := range more {
		out[k] = v
	}
	for k, v := range t.counts {
		out[k] = strconv.FormatInt(v, 10)
	}
	return out
}
