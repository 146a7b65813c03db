package entries

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// account is what is known of a user.
// The home is the text of the database: it need not exist, and it may be a relative path.
type account struct {
	name     string
	uid, gid int
	home     string
}

// accounts finds users: in a file like /etc/passwd, and then, if that is the machine's
// own, wherever else the system looks.
// Tests give it a file of their own.
// It keeps no copy: each question reads the file again, so a user that was made a moment ago is
// found.
type accounts struct{ passwd string }

// passwdPath is the database of users by passwd(5). A line has seven fields with colons between
// them: name, password, UID, GID, comment, home and shell.
const passwdPath = "/etc/passwd"

// find returns the account of a user.
// A user of LDAP is not in the file; user.Lookup then asks the system by
// nsswitch.conf(5).
// The error for an unknown user is a user.UnknownUserError, which isUnknownUser recognises. Any
// other error means that the answer is not known: a caller must not take it for a missing user.
//
// For a file that is not the machine's own nsswitch.conf(5) is not asked. So a test never sees the
// users of the machine that runs it.
func (a accounts) find(by safepath.Walker, name string) (account, error) {
	list, err := a.all(by)
	if err != nil {
		return account{}, err
	}
	for _, u := range list {
		if u.name == name {
			return u, nil
		}
	}
	// Another file is the whole truth: a test, or a chroot, has no other source of users.
	if a.passwd != passwdPath {
		return account{}, user.UnknownUserError(name)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	return parseAccount(u.Username, u.Uid, u.Gid, u.HomeDir)
}

// all returns the accounts of the file.
// It is in the order of the file. Lines that are broken are skipped, as getpwent(3) does.
// Users from LDAP and other services are not in the answer. To list them all could take minutes,
// and many services refuse it.
func (a accounts) all(by safepath.Walker) ([]account, error) {
	f, err := by.Open(a.passwd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []account
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// Seven fields are needed, since a shorter line could have another field in the place of
		// the home.
		w := strings.Split(lines.Text(), ":")
		if len(w) < 7 || strings.HasPrefix(w[0], "#") {
			continue
		}
		if u, err := parseAccount(w[0], w[2], w[3], w[5]); err == nil {
			list = append(list, u)
		}
	}
	return list, lines.Err()
}

// Numbers are up to 31 bits: -1 as 32 bits means "no change" to chown(2).
// parseAccount reads the texts of a line of passwd(5). The error names the user and has both wrong
// numbers, if both are wrong.
func parseAccount(name, uid, gid, home string) (account, error) {
	u, err1 := strconv.ParseUint(uid, 10, 31)
	g, err2 := strconv.ParseUint(gid, 10, 31)
	if err := errors.Join(err1, err2); err != nil {
		return account{}, fmt.Errorf("the numbers of the user %s: %w", name, err)
	}
	return account{name: name, uid: int(u), gid: int(g), home: home}, nil
}

// whoami is the name of the user that we run as.
// Without an entry in passwd it is the number.
// The number is that of the effective user, which decides about the rights on files. A provider
// asks once in its life, since the process does not change its user.
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}
