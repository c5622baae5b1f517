package sinks

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pipe/pipeline/fingerprint"
)

// Stamp is what pipe writes into the summary of every snapshot that it makes: enough to find, judge and continue it without a lock.
type Stamp struct {
	Stage        string // shown only: no rule tests it
	Fingerprint  fingerprint.Fingerprint
	Digest       fingerprint.Digest // of the whole table
	Sum          string             // the raw sum behind Digest, hex, so that an append can go on from it
	Rows         int64              // of the whole table
	Run          string
	ParentDigest fingerprint.Digest            // fingerprint.None: the base had no rows
	ParentRows   int64                         // of the base
	Outs         map[string]fingerprint.Digest // the stage's file outs, by path
	Revision     string                        // git revision; "+dirty" at its end if the tree was not clean; "none" without git
	Version      string                        // of pipe
	Extra        map[string]string             // what a stage kind carries on ("pipe.generated"), keys with their prefix
}

const (
	keyStage        = "pipe.stage"
	keyFingerprint  = "pipe.fingerprint"
	keyDigest       = "pipe.digest"
	keySum          = "pipe.sum"
	keyRows         = "pipe.rows"
	keyRun          = "pipe.run"
	keyParentDigest = "pipe.parent-digest"
	keyParentRows   = "pipe.parent-rows"
	keyOuts         = "pipe.outs"
	keyRevision     = "pipe.git-revision"
	keyVersion      = "pipe.version"
)

// Properties gives the stamp as summary properties.
func (s Stamp) Properties() map[string]string {
	m := map[string]string{
		keyStage: s.Stage, keyFingerprint: string(s.Fingerprint), keyDigest: string(s.Digest), keySum: s.Sum,
		keyRows: strconv.FormatInt(s.Rows, 10), keyRun: s.Run, keyParentDigest: string(s.ParentDigest),
		keyParentRows: strconv.FormatInt(s.ParentRows, 10), keyRevision: s.Revision, keyVersion: s.Version,
	}
	if len(s.Outs) > 0 {
		b, err := json.Marshal(s.Outs) // sorted by key
		if err != nil {
			panic(fmt.Sprintf("strings do not encode: %v", err))
		}
		m[keyOuts] = string(b)
	}
	for k, v := range s.Extra {
		m[k] = v
	}
	return m
}

// ParseStamp reads a stamp back; nil if the properties carry no fingerprint. Numbers that do not parse count as zero: a stamp is a
// hint that other engines may copy or cut, never a proof.
func ParseStamp(m map[string]string) *Stamp {
	if m[keyFingerprint] == "" {
		return nil
	}
	s := &Stamp{
		Stage: m[keyStage], Fingerprint: fingerprint.Fingerprint(m[keyFingerprint]), Digest: fingerprint.Digest(m[keyDigest]),
		Sum: m[keySum], Run: m[keyRun], ParentDigest: fingerprint.Digest(m[keyParentDigest]), Revision: m[keyRevision], Version: m[keyVersion],
	}
	s.Rows, _ = strconv.ParseInt(m[keyRows], 10, 64)
	s.ParentRows, _ = strconv.ParseInt(m[keyParentRows], 10, 64)
	if o := m[keyOuts]; o != "" {
		_ = json.Unmarshal([]byte(o), &s.Outs)
	}
	for k, v := range m {
		if len(k) > 5 && k[:5] == "pipe." && !known[k] {
			if s.Extra == nil {
				s.Extra = map[string]string{}
			}
			s.Extra[k] = v
		}
	}
	return s
}

var known = map[string]bool{
	keyStage: true, keyFingerprint: true, keyDigest: true, keySum: true, keyRows: true, keyRun: true, keyParentDigest: true,
	keyParentRows: true, keyOuts: true, keyRevision: true, keyVersion: true,
}
