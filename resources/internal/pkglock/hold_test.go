package pkglock

import (
	"io"
	"log"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// playHolder holds a lock in a process of its own.
func playHolder(how, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	switch how {
	case "record":
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	case "flock":
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	case "pid":
		_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		log.Fatal(err)
	}
	announce()
}
