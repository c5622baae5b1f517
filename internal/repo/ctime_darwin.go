package repo

import (
	"io/fs"
	"syscall"
	"time"
)

// changed gives the time at which the file's content or metadata last changed, which no program can set back.
func changed(st fs.FileInfo) (time.Time, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec)), true
}
