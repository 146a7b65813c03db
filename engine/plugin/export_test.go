package plugin

import (
	"context"
	"io"
)

// SocketFolder makes the folder for the socket of a provider. The function removes it.
func SocketFolder() (dir string, done func(), err error) { return new(Plugin).socketFolder() }

// Sweep removes the folders for sockets that killed daemons have left.
func Sweep(tmp string) { sweep(tmp) }

// NewLines begins a connection. The function returns how many questions the writer has not taken.
func NewLines(stream io.ReadWriteCloser) (c Conn, queued func() int) {
	l := newLines(stream, nil)
	return l, func() int { return len(l.out) }
}

// Records is a queue of records, as if one were being written.
type Records struct{ c commits }

// HoldRecords makes a queue whose two flushes of a group go by flush.
func HoldRecords(flush func(dir string) error) *Records {
	return &Records{commits{flush: flush, writing: true}}
}

// Save saves a record with an ID into a folder.
func (r *Records) Save(ctx context.Context, dir, id string) error {
	return r.c.save(ctx, dir, &record{Version: recordVersion, ID: id})
}

// Waiting returns how many records wait.
func (r *Records) Waiting() int {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return len(r.c.waiting)
}

// Release ends the writing of the one.
func (r *Records) Release() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.next()
}

// RecordID reads the ID of the record of a folder.
func RecordID(dir string) (string, error) {
	rec, err := loadRecord(dir)
	if err != nil {
		return "", err
	}
	return rec.ID, nil
}
