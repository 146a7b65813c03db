//go:build !mgmt_portable

package unix

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Portable reports whether this program was built for a system other than Linux. Then it checks, shows and
// formats graphs, and runs none.
const Portable = false

func Bind(fd int, sa Sockaddr) (err error) { return unix.Bind(fd, sa) }

// It ends at the first zero byte, as the kernel ends its names.
func ByteSliceToString(s []byte) string { return unix.ByteSliceToString(s) }

// It follows links, and mode has the bits of permission, setuid, setgid and sticky alone.
func Chmod(path string, mode uint32) (err error) { return unix.Chmod(path, mode) }

// It is not repeated after EINTR: the descriptor is closed on Linux also then.
func Close(fd int) (err error) { return unix.Close(fd) }

// It needs Linux 5.9, and 5.11 with CLOSE_RANGE_CLOEXEC. Older kernels answer ENOSYS or
// EINVAL.
func CloseRange(first uint, last uint, flags uint) (err error) {
	return unix.CloseRange(first, last, flags)
}

func EpollCreate1(flag int) (fd int, err error) { return unix.EpollCreate1(flag) }

// EPERM says that the descriptor can not be waited for, such as a file of a disk.
func EpollCtl(epfd int, op int, fd int, event *EpollEvent) (err error) {
	return unix.EpollCtl(epfd, op, fd, event)
}

// It blocks for msec milliseconds, for ever with -1.
func EpollWait(epfd int, events []EpollEvent, msec int) (n int, err error) {
	return unix.EpollWait(epfd, events, msec)
}

// It reserves space, so that a full disk is told of before the old content is touched.
// Mode 1 keeps the size of the file.
func Fallocate(fd int, mode uint32, off int64, len int64) (err error) {
	return unix.Fallocate(fd, mode, off, len)
}

// EPERM says that the caller lacks CAP_SYS_ADMIN or that a flag needs it, EINVAL that the kernel is older than a flag.
func FanotifyInit(flags uint, eventFlags uint) (fd int, err error) {
	return unix.FanotifyInit(flags, eventFlags)
}

// An empty path marks what dirfd is open on. The mask is added to that of an earlier call.
func FanotifyMark(fd int, flags uint, mask uint64, dirfd int, path string) (err error) {
	return unix.FanotifyMark(fd, flags, mask, dirfd, path)
}

func Fchmod(fd int, mode uint32) (err error) { return unix.Fchmod(fd, mode) }

// A number of -1 leaves the user or the group as it is. The call clears setuid and setgid
// of a program, so a mode is set after it.
func Fchown(fd int, uid int, gid int) (err error) { return unix.Fchown(fd, uid, gid) }

func Fchownat(dirfd int, path string, uid int, gid int, flags int) (err error) {
	return unix.Fchownat(dirfd, path, uid, gid, flags)
}

// Locks of F_SETLK belong to the process: closing any descriptor of the file gives them
// up.
func FcntlFlock(fd uintptr, cmd int, lk *Flock_t) error { return unix.FcntlFlock(fd, cmd, lk) }

// The meaning of arg is that of cmd; cmd F_DUPFD_CLOEXEC takes the least number of the
// copy.
func FcntlInt(fd uintptr, cmd int, arg int) (int, error) { return unix.FcntlInt(fd, cmd, arg) }

// It returns the size with an empty dest. ERANGE says that the value has grown since.
func Fgetxattr(fd int, attr string, dest []byte) (sz int, err error) {
	return unix.Fgetxattr(fd, attr, dest)
}

// The names in dest end with a zero byte each. Names that the caller may not see are left
// out.
func Flistxattr(fd int, dest []byte) (sz int, err error) { return unix.Flistxattr(fd, dest) }

// The lock belongs to the open file and ends with its last descriptor, also in a child.
func Flock(fd int, how int) (err error) { return unix.Flock(fd, how) }

// ENODATA says that there is no such attribute.
func Fremovexattr(fd int, attr string) (err error) { return unix.Fremovexattr(fd, attr) }

// Flags of 0 make the attribute or replace its value. Access control lists are attributes
// too, see acl(5).
func Fsetxattr(fd int, attr string, dest []byte, flags int) (err error) {
	return unix.Fsetxattr(fd, attr, dest, flags)
}

// It never blocks on the file itself, but may on a network file system.
func Fstat(fd int, stat *Stat_t) (err error) { return unix.Fstat(fd, stat) }

// With AT_SYMLINK_NOFOLLOW it tells of a link and not of its target.
func Fstatat(dirfd int, path string, stat *Stat_t, flags int) (err error) {
	return unix.Fstatat(dirfd, path, stat, flags)
}

// It tells of the file system that the descriptor is on.
func Fstatfs(fd int, buf *Statfs_t) (err error) { return unix.Fstatfs(fd, buf) }

// It blocks until the disk has the content. The name of a new file needs a sync of its
// folder too.
// A folder is synced the same way, by its own descriptor.
func Fsync(fd int) (err error) { return unix.Fsync(fd) }

// A longer file reads as zeros at its end, and takes no space for them.
func Ftruncate(fd int, length int64) (err error) { return unix.Ftruncate(fd, length) }

// The entries come in no order, and an empty answer is the end.
func Getdents(fd int, buf []byte) (n int, err error) { return unix.Getdents(fd, buf) }

// It is the user whose rights count, which for a setuid program differs from its caller.
func Geteuid() (euid int) { return unix.Geteuid() }

// Whether the effective group is among them differs between systems.
func Getgroups() (gids []int, err error) { return unix.Getgroups() }

// The soft limit is in force; a process may raise it up to the hard one.
func Getrlimit(resource int, rlim *Rlimit) (err error) { return unix.Getrlimit(resource, rlim) }

// Times are those of all threads of the process for RUSAGE_SELF.
func Getrusage(who int, rusage *Rusage) (err error) { return unix.Getrusage(who, rusage) }

// With SO_PEERCRED it tells who connected, by the numbers of our own user namespace.
func GetsockoptUcred(fd int, level int, opt int) (*Ucred, error) {
	return unix.GetsockoptUcred(fd, level, opt)
}

// It follows links, Lgetxattr does not.
func Getxattr(path string, attr string, dest []byte) (sz int, err error) {
	return unix.Getxattr(path, attr, dest)
}

// It returns the same number for the same file, and then replaces the mask of the earlier
// call. ENOSPC means that the limit max_user_watches is reached.
func InotifyAddWatch(fd int, pathname string, mask uint32) (watchdesc int, err error) {
	return unix.InotifyAddWatch(fd, pathname, mask)
}

// EMFILE means that the limit max_user_instances of this user is reached.
func InotifyInit1(flags int) (fd int, err error) { return unix.InotifyInit1(flags) }

// EINVAL says that there is no such watch any more. Events that were queued before it still come.
func InotifyRmWatch(fd int, watchdesc int) (err error) {
	_, err = unix.InotifyRmWatch(fd, uint32(watchdesc))
	return err
}

func IoctlGetInt(fd int, req uint) (int, error) { return unix.IoctlGetInt(fd, req) }

func IoctlSetPointerInt(fd int, req uint, value int) error {
	return unix.IoctlSetPointerInt(fd, req, value)
}

// A negative pid is a process group, signal 0 only asks whether the process is there.
func Kill(pid int, sig syscall.Signal) (err error) { return unix.Kill(pid, sig) }

func Lgetxattr(path string, attr string, dest []byte) (sz int, err error) {
	return unix.Lgetxattr(path, attr, dest)
}

// It makes a file of O_TMPFILE visible, and fails with EEXIST where the name is taken.
func Linkat(olddirfd int, oldpath string, newdirfd int, newpath string, flags int) (err error) {
	return unix.Linkat(olddirfd, oldpath, newdirfd, newpath, flags)
}

func Listen(s int, n int) (err error) { return unix.Listen(s, n) }

// It tells of the link itself, which has no attributes of the class user.
func Llistxattr(path string, dest []byte) (sz int, err error) { return unix.Llistxattr(path, dest) }

func Lsetxattr(path string, attr string, data []byte, flags int) (err error) {
	return unix.Lsetxattr(path, attr, data, flags)
}

func Lstat(path string, stat *Stat_t) (err error) { return unix.Lstat(path, stat) }

// A number of a device has two parts: the driver, and the device that the driver knows.
func Major(dev uint64) uint32 { return unix.Major(dev) }

// The name is only for a reader of /proc; two files may have the same.
func MemfdCreate(name string, flags int) (fd int, err error) { return unix.MemfdCreate(name, flags) }

func Minor(dev uint64) uint32 { return unix.Minor(dev) }

// The umask of the process takes bits off the mode.
// The folder must not exist: EEXIST comes for a file and for a link there too.
func Mkdirat(dirfd int, path string, mode uint32) (err error) { return unix.Mkdirat(dirfd, path, mode) }

// Data are the options of the file system itself; those of the mount are flags.
func Mount(source string, target string, fstype string, flags uintptr, data string) (err error) {
	return unix.Mount(source, target, fstype, flags, data)
}

// A handle is equal for equal files, while they exist; a number that is given again comes with another generation.
func NameToHandleAt(dirfd int, path string, flags int) (handle FileHandle, mountID int, err error) {
	return unix.NameToHandleAt(dirfd, path, flags)
}

// NewFileHandle returns a handle as an event of fanotify has it.
func NewFileHandle(handleType int32, handle []byte) FileHandle {
	return unix.NewFileHandle(handleType, handle)
}

// Callers pass O_CLOEXEC. EINTR can come from a slow file system and is worth another
// try.
func Open(path string, mode int, perm uint32) (fd int, err error) { return unix.Open(path, mode, perm) }

// It needs CAP_DAC_READ_SEARCH. ESTALE says that the file is gone.
func OpenByHandleAt(mountFD int, handle FileHandle, flags int) (fd int, err error) {
	return unix.OpenByHandleAt(mountFD, handle, flags)
}

func Openat(dirfd int, path string, flags int, mode uint32) (fd int, err error) {
	return unix.Openat(dirfd, path, flags, mode)
}

// It needs Linux 5.6. EAGAIN says that a rename came between; the caller tries again.
func Openat2(dirfd int, path string, how *OpenHow) (fd int, err error) {
	return unix.Openat2(dirfd, path, how)
}

// It leaves out the entries "." and "..", and returns at most max names.
func ParseDirent(buf []byte, max int, names []string) (consumed int, count int, newnames []string) {
	return unix.ParseDirent(buf, max, names)
}

// The descriptor stays with its process also when another one gets the number. It needs
// Linux 5.3.
func PidfdOpen(pid int, flags int) (fd int, err error) { return unix.PidfdOpen(pid, flags) }

// ESRCH says that the process has ended, and no other process can get the signal.
func PidfdSendSignal(pidfd int, sig Signal, info *Siginfo, flags int) (err error) {
	return unix.PidfdSendSignal(pidfd, sig, info, flags)
}

// Its timeout is in milliseconds, and -1 waits for ever.
func Poll(fds []PollFd, timeout int) (n int, err error) { return unix.Poll(fds, timeout) }

func PrctlRetInt(option int, arg2 uintptr, arg3 uintptr, arg4 uintptr, arg5 uintptr) (int, error) {
	return unix.PrctlRetInt(option, arg2, arg3, arg4, arg5)
}

// Zero bytes without an error are the end of the file.
func Read(fd int, p []byte) (n int, err error) { return unix.Read(fd, p) }

// Pread is Read at an offset, which stays.
func Pread(fd int, p []byte, offset int64) (n int, err error) { return unix.Pread(fd, p, offset) }

func ReadDirent(fd int, buf []byte) (n int, err error) { return unix.ReadDirent(fd, buf) }

// It cuts a longer target without an error: an answer as long as buf needs a larger one.
func Readlink(path string, buf []byte) (n int, err error) { return unix.Readlink(path, buf) }

func Readlinkat(dirfd int, path string, buf []byte) (n int, err error) {
	return unix.Readlinkat(dirfd, path, buf)
}

// It returns at most one message, and drops the part of it that does not fit into p.
func Recvfrom(fd int, p []byte, flags int) (n int, from Sockaddr, err error) {
	return unix.Recvfrom(fd, p, flags)
}

func Removexattr(path string, attr string) (err error) { return unix.Removexattr(path, attr) }

// A reader sees the old file or the new one and nothing between them. EXDEV says that the
// two folders are on different mounts.
func Renameat(olddirfd int, oldpath string, newdirfd int, newpath string) (err error) {
	return unix.Renameat(olddirfd, oldpath, newdirfd, newpath)
}

func Renameat2(olddirfd int, oldpath string, newdirfd int, newpath string, flags uint) (err error) {
	return unix.Renameat2(olddirfd, oldpath, newdirfd, newpath, flags)
}

// The answer can differ from runtime.NumCPU, which is as it was when the process began.
func SchedGetaffinity(pid int, set *CPUSet) error { return unix.SchedGetaffinity(pid, set) }

func Seek(fd int, offset int64, whence int) (off int64, err error) {
	return unix.Seek(fd, offset, whence)
}

func SetNonblock(fd int, nonblocking bool) (err error) { return unix.SetNonblock(fd, nonblocking) }

// These two alter the calling thread alone, so callers lock it to its goroutine. The call
// reports no failure: a second call with -1 tells whether the first one took effect.
func SetfsgidRetGid(gid int) (int, error) { return unix.SetfsgidRetGid(gid) }

func SetfsuidRetUid(uid int) (int, error) { return unix.SetfsuidRetUid(uid) }

// It sets the name of the UTS namespace of this process, which a container has for
// itself.
func Sethostname(p []byte) (err error) { return unix.Sethostname(p) }

func Setxattr(path string, attr string, data []byte, flags int) (err error) {
	return unix.Setxattr(path, attr, data, flags)
}

// Getrandom fills the beginning of b with random bytes of the kernel, and returns their number.
func Getrandom(b []byte, flags int) (int, error) { return unix.Getrandom(b, flags) }

// It has the prefix SIG, and is empty for a number without a name.
func SignalName(s syscall.Signal) string { return unix.SignalName(s) }

func SignalNum(s string) syscall.Signal { return unix.SignalNum(s) }

func Socket(domain int, typ int, proto int) (fd int, err error) {
	return unix.Socket(domain, typ, proto)
}

func Stat(path string, stat *Stat_t) (err error) { return unix.Stat(path, stat) }

// It blocks while a network file system does not answer.
func Statfs(path string, buf *Statfs_t) (err error) { return unix.Statfs(path, buf) }

// Mask says which fields the kernel has filled in.
func Statx(dirfd int, path string, flags int, mask int, stat *Statx_t) (err error) {
	return unix.Statx(dirfd, path, flags, mask, stat)
}

func Symlinkat(oldpath string, newdirfd int, newpath string) (err error) {
	return unix.Symlinkat(oldpath, newdirfd, newpath)
}

// It writes out the whole file system that the descriptor is on.
func Syncfs(fd int) (err error) { return unix.Syncfs(fd) }

// Boottime returns the time since the machine was booted. Unlike the clock of package time it counts the time in which the machine
// was suspended.
func Boottime() (time.Duration, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano()), err
}

func Sysinfo(info *Sysinfo_t) (err error) { return unix.Sysinfo(info) }

// Umask belongs to the process, and not to a thread.
func Umask(mask int) (old int) { return unix.Umask(mask) }

func Uname(buf *Utsname) (err error) { return unix.Uname(buf) }

func UnixRights(fds ...int) []byte { return unix.UnixRights(fds...) }

// It removes an empty folder with AT_REMOVEDIR, and only then.
func Unlinkat(dirfd int, path string, flags int) (err error) {
	return unix.Unlinkat(dirfd, path, flags)
}

// EBUSY says that a process has a file there open or has its working folder there.
func Unmount(target string, flags int) (err error) { return unix.Unmount(target, flags) }

// A nil rusage is allowed. With WNOWAIT it only looks.
func Waitid(idType int, id int, info *Siginfo, options int, rusage *Rusage) (err error) {
	return unix.Waitid(idType, id, info, options, rusage)
}

func Write(fd int, p []byte) (n int, err error) { return unix.Write(fd, p) }

// PeerGroups returns the other groups of who has connected to a socket, as they were then; nil if that is not known.
// unix has no wrapper for this option.
// The list is taken twice at most: the first answer may say that there are more groups
// than fit.
func PeerGroups(fd int) []uint32 {
	list := make([]uint32, 64)
	for range 2 {
		size := uint32(len(list)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return list[:size/4]
		case unix.ERANGE:
			list = make([]uint32, size/4)
		default:
			return nil
		}
	}
	return nil
}

// SetThreadGroups gives the calling thread other groups; unix.Setgroups gives them to all threads.
// Package safepath calls it on a thread that it has locked to its goroutine, so that no
// other code runs with these groups.
func SetThreadGroups(groups []int) error {
	list := make([]uint32, len(groups))
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// NewSession starts a program in a session of its own, as whom cred names; nil for this process's own user.
// The session has no terminal, so the program can type nothing into that of mgmt.
func NewSession(cred *Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: cred}
}

// StreamPair returns two sockets that are connected with each other, and are closed in programs that are started.
func StreamPair() (fds [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// DieWithParent has the kernel kill a program when the thread that has started it ends.
func DieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// LimitData bounds the memory that a process may have for itself; see RLIMIT_DATA of setrlimit(2).
func LimitData(pid int, bytes uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}

// StartIn starts a program in a control group, which an open folder names; with a number below 0 in that of this process.
func StartIn(attr *syscall.SysProcAttr, folder int) {
	attr.UseCgroupFD, attr.CgroupFD = folder >= 0, max(folder, 0)
}
