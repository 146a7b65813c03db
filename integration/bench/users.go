package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/account"
)

// A file of so many lines shows a kind that reads it once for each user.
// usersEach is the number of users in the databases.
const usersEach = 1000

// userRows are about the databases of users.
// Every user needs passwd, group and shadow. One reading of each must serve all.
func userRows() []row {
	return []row{
		{"1,000 users checked", library, "a graph of users who are right handed to Run, to converged; how often each database is opened", "one reading of each", usersChecked},
	}
}

// userGraph makes the databases of an image with a thousand users, and a graph that finds them
// right.
// The databases are those of an image, so the users of this machine are not touched.
// Users begin at 2000, above the numbers of system users.
func userGraph(root string) (decls []gapi.Declaration) {
	const hash = "$6$salt$hash"
	var passwd, group, shadow strings.Builder
	for i := range usersEach {
		name := fmt.Sprint("u", i)
		fmt.Fprintf(&passwd, "%s:x:%d:%d:User %d:/home/%s:/bin/sh\n", name, 2000+i, 2000+i, i, name)
		fmt.Fprintf(&group, "%s:x:%d:\n", name, 2000+i)
		fmt.Fprintf(&shadow, "%s:%s:19000:0:99999:7:::\n", name, hash)
		r := (&account.UserRes{}).Default().(*account.UserRes)
		r.UID, r.Group, r.Shell, r.Password, r.Root = new(2000+i), name, "/bin/sh", schema.NewSecret(hash), root
		decls = append(decls, static.Declare("user", name, r))
	}
	must(os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	for name, b := range map[string]*strings.Builder{"passwd": &passwd, "group": &group, "shadow": &shadow} {
		must(os.WriteFile(filepath.Join(root, "etc", name), []byte(b.String()), 0o600))
	}
	return decls
}

// An inotify watch of ours counts opens by name, by any process. Its queue holds 16,384
// events by default, far more than are right.
// usersChecked counts how often each database is opened while all users are checked.
func usersChecked(b *bench) result {
	root := filepath.Join(b.dir, "users")
	decls := userGraph(root)
	// The watch is set before the run, and does not block: the events wait in its queue until the run is over.
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	must(err)
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, filepath.Join(root, "etc"), unix.IN_OPEN)
	must(err)
	begin := time.Now()
	r := start(static.New(&gapi.Declared{Name: "bench", Resources: decls}), mgmt.Options{})
	took := r.rest().Sub(begin)
	r.close()
	opened := opens(fd)
	return result{
		Figure: fmt.Sprintf("%s; passwd %d, group %d, shadow %d", round(took), opened["passwd"], opened["group"], opened["shadow"]),
		OK:     opened["passwd"] == 1 && opened["group"] == 1 && opened["shadow"] == 1,
	}
}

// opens counts the opens of each name that inotify has told of.
// An event is a head of 16 bytes, with the length of the padded name at 12, and the name;
// see inotify(7).
func opens(fd int) map[string]int {
	counts := map[string]int{}
	buf := make([]byte, 1<<20)
	n, err := unix.Read(fd, buf)
	must(err)
	for at := 0; at < n; {
		size := int(buf[at+12]) | int(buf[at+13])<<8
		end := at + unix.SizeofInotifyEvent + size
		counts[strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:end]), "\x00")]++
		at = end
	}
	return counts
}
