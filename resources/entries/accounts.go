package entries

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// account is what is known of a user.
type account struct {
	name     string
	uid, gid int
	home     string
}

// accounts finds users: in a file like /etc/passwd, and then, if that is the machine's
// own, wherever else the system looks.
// Tests give it a file of their own.
type accounts struct{ passwd string }

const passwdPath = "/etc/passwd"

// find returns the account of a user.
// A user of LDAP is not in the file; user.Lookup then asks the system by
// nsswitch.conf(5).
func (a accounts) find(name string) (account, error) {
	list, err := a.all()
	if err != nil {
		return account{}, err
	}
	for _, u := range list {
		if u.name == name {
			return u, nil
		}
	}
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
func (a accounts) all() ([]account, error) {
	f, err := os.Open(a.passwd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []account
	lines := bufio.NewScanner(f)
	for lines.Scan() {
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
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}
