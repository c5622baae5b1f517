package lockfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pipe/internal/diag"
)

// JournalVersion is the format that EncodeJournal writes and the newest that ParseJournal knows.
const JournalVersion = 1

// Journal is what a run is about to publish, written right before: the next run finishes it if this one dies. It is the point of
// no return of a run.
type Journal struct {
	Run      string         `json:"run"`
	Ref      string         `json:"ref"`
	Catalogs []JournalMoves `json:"catalogs,omitempty"`
	Entries  []JournalEntry `json:"entries,omitempty"`
}

// JournalMoves are the moves of one sink's heads.
type JournalMoves struct {
	Sink  string        `json:"sink"`
	Moves []JournalMove `json:"moves"`
}

// JournalMove is one head's move between two snapshot ids. The empty From means that the ref did not exist.
type JournalMove struct {
	Table string `json:"table"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// JournalEntry is one stage's entry before and after. Old is nil where there was none.
type JournalEntry struct {
	Stage string `json:"stage"`
	Old   *Entry `json:"old,omitempty"`
	New   *Entry `json:"new"`
}

// envelope is the file: the body's bytes, as they stand, are what the sum is taken over.
type envelope struct {
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Body    json.RawMessage `json:"body"`
}

// EncodeJournal gives the bytes of the file: JSON with a version and the SHA-256 of the body.
func EncodeJournal(j *Journal) []byte {
	body := marshal(j)
	sum := sha256.Sum256(body)
	return append(marshal(envelope{JournalVersion, hex.EncodeToString(sum[:]), body}), '\n')
}

// marshal encodes structs of strings, numbers and bools, for which there is no error.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("lockfile: plain values do not encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// ParseJournal reads the file; name stands in errors. It is written in one piece, so a file that is empty, torn or changed was
// damaged from outside: a *diag.Error with exit status Broken, since guessing at what was to be published is worse than to stop.
func ParseJournal(name string, data []byte) (*Journal, error) {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, damaged(name, "it is no JSON", err)
	}
	if env.Version > JournalVersion {
		return nil, (&diag.Error{
			Exit: diag.Broken, Pos: diag.Pos{File: name},
			Msg: fmt.Sprintf("the journal of a run that was cut off is of version %d, this pipe knows version %d", env.Version, JournalVersion),
		}).With("run pipe repro once with the newer pipe that wrote it")
	}
	if env.Version < 1 {
		return nil, damaged(name, "it has no version", nil)
	}
	if sum := sha256.Sum256(env.Body); hex.EncodeToString(sum[:]) != env.SHA256 {
		return nil, damaged(name, "its checksum is wrong", nil)
	}
	dec := json.NewDecoder(bytes.NewReader(env.Body))
	dec.DisallowUnknownFields()
	j := &Journal{}
	if err := dec.Decode(j); err != nil {
		return nil, damaged(name, "its body is not that of a journal", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, damaged(name, "something follows its body", err)
	}
	return j, nil
}

func damaged(name, why string, err error) *diag.Error {
	return (&diag.Error{
		Exit: diag.Broken, Pos: diag.Pos{File: name}, Err: err,
		Msg: "the journal of a run that was cut off is damaged: " + why,
	}).With("move it away (mv %s %s.damaged), then pipe status shows which heads the run had moved", name, name)
}
