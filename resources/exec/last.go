package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/private"
)

// lastRun is the record of the last successful run. By it the output can be sent also when nothing has to run, and mtimes can be compared.
type lastRun struct {
	Output []byte               `json:"output"` // bytes, since JSON would alter text that is not UTF-8
	Stdout []byte               `json:"stdout"`
	Stderr []byte               `json:"stderr"`
	Mtimes map[string]time.Time `json:"mtimes,omitempty"`
	Cut    bool                 `json:"cut,omitempty"` // it printed more than is kept, and none of it is
}

// outputMax is how much of the output of a command the host keeps. It is 1 MiB of
// each stream.
const outputMax schema.Size = 1 << 20

// lastFile is the name of the record in VarDir. Only the user of the program can
// read it, for an output can be secret.
const lastFile = "last.json"

// loadLast returns nil when there was no run yet. An unreadable record counts as
// missing. A lost record costs one more run at most, and stopping for it would cost
// more; so the loss is logged only.
func (x *Res) loadLast() *lastRun {
	if x.run.unkept != nil {
		return x.run.unkept
	}
	data, err := private.Read(x.init, lastFile)
	if err != nil || data == nil {
		if err != nil {
			x.init.Logf("what was kept of the last run is lost: %v", err)
		}
		return nil
	}
	var last lastRun
	if err := json.Unmarshal(data, &last); err != nil {
		x.init.Logf("what was kept of the last run is lost: %v", err)
		return nil
	}
	return &last
}

// keepLast saves the results of a run. If it can't, as on a full disk, the run was successful all
// the same, and must not be made again for that: its results live as long as this instance.
func (x *Res) keepLast(last *lastRun) {
	x.run.unkept = nil
	if err := x.saveLast(last); err != nil {
		x.run.unkept = last
		x.init.Logf("what is kept of this run is lost with the end of the program: %v", err)
	}
}

// saveLast replaces the record at once, so a crash leaves the old one or the new
// one. It does not wait for the disk: a lost record costs one run.
func (x *Res) saveLast(last *lastRun) error {
	data, err := json.Marshal(last)
	if err != nil {
		return err
	}
	return private.Write(x.init, lastFile, data, false)
}

// send sends the output of the last run. An exec that has never run, because its
// conditions never let it, sends only the values that it was given for that. An
// output that was cut is refused only if another resource receives it. That error is
// a verdict: another try would print as much again.
func (x *Res) send(last *lastRun) error {
	switch {
	case last == nil:
		return x.sendGiven()
	case last.Cut && x.init.Receives():
		return failure.Verdict(fmt.Errorf("cmd printed more than the %s that can be sent: let it print less, or write to a file that the receiver reads", outputMax))
	case last.Cut:
		return nil
	}
	return x.init.Send(&Sends{Output: x.sent(last.Output), Stdout: x.sent(last.Stdout), Stderr: x.sent(last.Stderr)})
}

// sent returns an output as it is sent. Bytes that are not UTF-8 pass as they are.
func (x *Res) sent(printed []byte) string {
	if x.Trim {
		printed = bytes.TrimSpace(printed)
	}
	return string(printed)
}

// sendGiven sends the values that are given for the time before the first run. A missing value is
// empty.
func (x *Res) sendGiven() error {
	if x.SendOutput == nil && x.SendStdout == nil && x.SendStderr == nil {
		return nil
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return x.init.Send(&Sends{Output: text(x.SendOutput), Stdout: text(x.SendStdout), Stderr: text(x.SendStderr)})
}
