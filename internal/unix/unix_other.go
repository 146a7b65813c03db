//go:build !linux || mgmt_portable

package unix

import (
	"crypto/rand"
	"math/bits"
	"os"
	"strings"
	"syscall"
	"time"
)

// Portable reports whether this program was built for a system other than Linux.
const Portable = true

func Bind(int, Sockaddr) error { return ErrNeedsLinux }

func ByteSliceToString(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return text
}

func Chmod(string, uint32) error { return ErrNeedsLinux }

func Close(int) error { return ErrNeedsLinux }

func CloseRange(uint, uint, uint) error { return ErrNeedsLinux }

func EpollCreate1(int) (int, error) { return 0, ErrNeedsLinux }

func EpollCtl(int, int, int, *EpollEvent) error { return ErrNeedsLinux }

func EpollWait(int, []EpollEvent, int) (int, error) { return 0, ErrNeedsLinux }

func Fallocate(int, uint32, int64, int64) error { return ErrNeedsLinux }

func FanotifyInit(uint, uint) (int, error) { return -1, ErrNeedsLinux }

func FanotifyMark(int, uint, uint64, int, string) error { return ErrNeedsLinux }

func Fchmod(int, uint32) error { return ErrNeedsLinux }

func Fchown(int, int, int) error { return ErrNeedsLinux }

func Fchownat(int, string, int, int, int) error { return ErrNeedsLinux }

func FcntlFlock(uintptr, int, *Flock_t) error { return ErrNeedsLinux }

func FcntlInt(uintptr, int, int) (int, error) { return 0, ErrNeedsLinux }

func Fgetxattr(int, string, []byte) (int, error) { return 0, ErrNeedsLinux }

func Flistxattr(int, []byte) (int, error) { return 0, ErrNeedsLinux }

func Flock(int, int) error { return ErrNeedsLinux }

func Fremovexattr(int, string) error { return ErrNeedsLinux }

func Fsetxattr(int, string, []byte, int) error { return ErrNeedsLinux }

func Fstat(int, *Stat_t) error { return ErrNeedsLinux }

func Fstatat(int, string, *Stat_t, int) error { return ErrNeedsLinux }

func Fstatfs(int, *Statfs_t) error { return ErrNeedsLinux }

func Fsync(int) error { return ErrNeedsLinux }

func Ftruncate(int, int64) error { return ErrNeedsLinux }

func Getdents(int, []byte) (int, error) { return 0, ErrNeedsLinux }

func Geteuid() int { return os.Geteuid() }

func Getgroups() ([]int, error) { return nil, ErrNeedsLinux }

func Getrlimit(int, *Rlimit) error { return ErrNeedsLinux }

// Each function below answers ErrNeedsLinux, or a zero value where it has no error to
// return. None has an effect.
func Getrusage(int, *Rusage) error { return ErrNeedsLinux }

func GetsockoptUcred(int, int, int) (*Ucred, error) { return nil, ErrNeedsLinux }

func Getxattr(string, string, []byte) (int, error) { return 0, ErrNeedsLinux }

func InotifyAddWatch(int, string, uint32) (int, error) { return 0, ErrNeedsLinux }

func InotifyInit1(int) (int, error) { return 0, ErrNeedsLinux }

func InotifyRmWatch(int, int) error { return ErrNeedsLinux }

func IoctlGetInt(int, uint) (int, error) { return 0, ErrNeedsLinux }

func IoctlSetPointerInt(int, uint, int) error { return ErrNeedsLinux }

func Kill(int, syscall.Signal) error { return ErrNeedsLinux }

func Lgetxattr(string, string, []byte) (int, error) { return 0, ErrNeedsLinux }

func Linkat(int, string, int, string, int) error { return ErrNeedsLinux }

func Listen(int, int) error { return ErrNeedsLinux }

func Llistxattr(string, []byte) (int, error) { return 0, ErrNeedsLinux }

func Lsetxattr(string, string, []byte, int) error { return ErrNeedsLinux }

func Lstat(string, *Stat_t) error { return ErrNeedsLinux }

func Major(uint64) uint32 { return 0 }

func MemfdCreate(string, int) (int, error) { return 0, ErrNeedsLinux }

func Minor(uint64) uint32 { return 0 }

func Mkdirat(int, string, uint32) error { return ErrNeedsLinux }

func Mount(string, string, string, uintptr, string) error { return ErrNeedsLinux }

// A descriptor of -1 can not be mistaken for standard input, which is 0.
func NameToHandleAt(int, string, int) (FileHandle, int, error) {
	return FileHandle{}, 0, ErrNeedsLinux
}

// NewFileHandle returns the handle of no file.
func NewFileHandle(int32, []byte) FileHandle { return FileHandle{} }

func OpenByHandleAt(int, FileHandle, int) (int, error) { return -1, ErrNeedsLinux }

func Open(string, int, uint32) (int, error) { return -1, ErrNeedsLinux }

func Openat(int, string, int, uint32) (int, error) { return -1, ErrNeedsLinux }

func Openat2(int, string, *OpenHow) (int, error) { return -1, ErrNeedsLinux }

func ParseDirent([]byte, int, []string) (int, int, []string) { return 0, 0, nil }

func PidfdOpen(int, int) (int, error) { return 0, ErrNeedsLinux }

func PidfdSendSignal(int, Signal, *Siginfo, int) error { return ErrNeedsLinux }

func Poll([]PollFd, int) (int, error) { return 0, ErrNeedsLinux }

func PrctlRetInt(int, uintptr, uintptr, uintptr, uintptr) (int, error) { return 0, ErrNeedsLinux }

func Read(int, []byte) (int, error) { return 0, ErrNeedsLinux }

// Pread is Read at an offset, which stays.
func Pread(int, []byte, int64) (int, error) { return 0, ErrNeedsLinux }

func ReadDirent(int, []byte) (int, error) { return 0, ErrNeedsLinux }

func Readlink(string, []byte) (int, error) { return 0, ErrNeedsLinux }

func Readlinkat(int, string, []byte) (int, error) { return 0, ErrNeedsLinux }

func Recvfrom(int, []byte, int) (int, Sockaddr, error) { return 0, nil, ErrNeedsLinux }

func Removexattr(string, string) error { return ErrNeedsLinux }

func Renameat(int, string, int, string) error { return ErrNeedsLinux }

func Renameat2(int, string, int, string, uint) error { return ErrNeedsLinux }

func SchedGetaffinity(int, *CPUSet) error { return ErrNeedsLinux }

func Seek(int, int64, int) (int64, error) { return 0, ErrNeedsLinux }

func SetNonblock(int, bool) error { return ErrNeedsLinux }

func SetfsgidRetGid(int) (int, error) { return 0, ErrNeedsLinux }

func SetfsuidRetUid(int) (int, error) { return 0, ErrNeedsLinux }

func Sethostname([]byte) error { return ErrNeedsLinux }

func Setxattr(string, string, []byte, int) error { return ErrNeedsLinux }

// No signal has a name here: graphs that stop a program by a signal run on Linux only.
func Getrandom(b []byte, _ int) (int, error) { return rand.Read(b) }

func SignalName(syscall.Signal) string { return "" }

func SignalNum(string) syscall.Signal { return 0 }

func Socket(int, int, int) (int, error) { return -1, ErrNeedsLinux }

func Stat(string, *Stat_t) error { return ErrNeedsLinux }

func Statfs(string, *Statfs_t) error { return ErrNeedsLinux }

func Statx(int, string, int, int, *Statx_t) error { return ErrNeedsLinux }

func Symlinkat(string, int, string) error { return ErrNeedsLinux }

func Syncfs(int) error { return ErrNeedsLinux }

func Boottime() (time.Duration, error) { return 0, ErrNeedsLinux }

func Sysinfo(*Sysinfo_t) error { return ErrNeedsLinux }

func Umask(mask int) int { return mask }

func Uname(*Utsname) error { return ErrNeedsLinux }

func UnixRights(...int) []byte { return nil }

func Unlinkat(int, string, int) error { return ErrNeedsLinux }

func Unmount(string, int) error { return ErrNeedsLinux }

func Waitid(int, int, *Siginfo, int, *Rusage) error { return ErrNeedsLinux }

func Write(int, []byte) (int, error) { return 0, ErrNeedsLinux }

// No group is known of a peer, so it gets no right by one.
func PeerGroups(int) []uint32 { return nil }

func SetThreadGroups([]int) error { return ErrNeedsLinux }

func (s *CPUSet) Count() (n int) {
	for _, b := range s {
		n += bits.OnesCount64(b)
	}
	return n
}

// Callers start no program here: the calls before it have answered ErrNeedsLinux.
func NewSession(*Credential) *syscall.SysProcAttr { return nil }

func StartIn(*syscall.SysProcAttr, int) {}

func StreamPair() (fds [2]int, err error) { return fds, ErrNeedsLinux }

func DieWithParent(*syscall.SysProcAttr) {}

func LimitData(int, uint64) error { return ErrNeedsLinux }

// Nano returns the time as nanoseconds since 1970.
func (t *Timespec) Nano() int64 { return t.Sec*1e9 + t.Nsec }

func (t *Timeval) Nano() int64 { return t.Sec*1e9 + t.Usec*1e3 }

func (h *FileHandle) Bytes() []byte { return nil }

func (h *FileHandle) Type() int32 { return 0 }
