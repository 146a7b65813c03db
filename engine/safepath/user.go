package safepath

import (
	"errors"
	"fmt"
	"os/user"
	"runtime"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// User is who acts on files: numbers of the system, none negative.
type User struct {
	UID, GID int
	Groups   []int // besides GID
}

// LookupUser returns the user with a number, with the groups that the system knows. An unknown user
// has the group of the same number, and no other.
func LookupUser(uid int) User {
	u := User{UID: uid, GID: uid}
	known, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return u
	}
	if gid, err := strconv.Atoi(known.Gid); err == nil {
		u.GID = gid
	}
	groups, _ := known.GroupIds()
	for _, g := range groups {
		if gid, err := strconv.Atoi(g); err == nil && gid != u.GID {
			u.Groups = append(u.Groups, gid)
		}
	}
	return u
}

// Do calls do on a thread whose rights on files are those of u, and waits for it. Only
// root can; do must not hand file work to other goroutines, which stay root. A panic of
// do goes on in the caller. If the thread can't become u, do is not called. A thread
// that can't come back ends.
func (u *User) Do(do func() error) error {
	var res outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if u.on(&res, do) {
			runtime.UnlockOSThread()
		} // else the thread ends with the goroutine
	}()
	<-done
	if res.panicked {
		panic(res.value)
	}
	return res.err
}

// outcome is how do has ended.
type outcome struct {
	err      error
	panicked bool
	value    any
}

// on calls do as u on this thread, and reports whether the thread is as it was before.
func (u *User) on(res *outcome, do func() error) (clean bool) {
	was, err := current()
	if err != nil {
		res.err = err
		return true
	}
	defer func() {
		if e := was.become(); e != nil {
			res.err = errors.Join(res.err, fmt.Errorf("coming back from %s: %w", userName(u.UID), e))
			clean = false
		}
	}()
	if res.err = u.allowed(); res.err != nil {
		return true
	}
	if err := u.become(); err != nil {
		res.err = fmt.Errorf("acting as %s: %w", userName(u.UID), err)
		return true
	}
	res.guard(do)
	return true
}

// guard calls do and keeps how it ends: a goroutine that ends in it is an error.
func (res *outcome) guard(do func() error) {
	res.err = errors.New("it ended without a result")
	ended := false
	defer func() {
		if v := recover(); v != nil && !ended {
			res.panicked, res.value = true, v
		}
	}()
	res.err = do()
	ended = true
}

// allowed returns an error where a thread that becomes another user would keep root's
// rights on files.
func (u *User) allowed() error {
	const noFixup = 1 << 2 // SECBIT_NO_SETUID_FIXUP
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	switch {
	case u.UID <= 0 || u.GID < 0:
		return fmt.Errorf("acting as %s is not possible", userName(u.UID))
	case err != nil || bits&noFixup != 0 || unix.Geteuid() != 0:
		return fmt.Errorf("acting as %s: this process is not root, or keeps root's rights as any user", userName(u.UID))
	}
	return nil
}

// current returns who this thread is for files.
func current() (User, error) {
	var u User
	var err error
	if u.Groups, err = unix.Getgroups(); err != nil {
		return u, err
	}
	if u.UID, err = fsuid(-1); err != nil {
		return u, err
	}
	u.GID, err = fsgid(-1)
	return u, err
}

// become makes this thread be u for files. Groups and group come first, while it is
// root; on the way back that holds too, since only the rights on files are given up.
func (u *User) become() error {
	if err := setgroups(u.Groups); err != nil {
		return err
	}
	if _, err := fsgid(u.GID); err != nil {
		return err
	}
	if _, err := fsuid(u.UID); err != nil {
		return err
	}
	uid, err := fsuid(-1)
	gid, gerr := fsgid(-1)
	if err := errors.Join(err, gerr); err != nil {
		return err
	}
	if uid != u.UID || gid != u.GID {
		return unix.EPERM
	}
	return nil
}
