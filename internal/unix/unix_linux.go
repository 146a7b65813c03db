//go:build !mgmt_portable

package unix

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Types of the kernel.
type (
	Credential      = syscall.Credential
	FileStat        = syscall.Stat_t // what the Sys of an fs.FileInfo points to
	CPUSet          = unix.CPUSet
	EpollEvent      = unix.EpollEvent
	Signal          = unix.Signal
	Errno           = unix.Errno
	Flock_t         = unix.Flock_t
	Fsid            = unix.Fsid
	OpenHow         = unix.OpenHow
	PollFd          = unix.PollFd
	Rlimit          = unix.Rlimit
	Rusage          = unix.Rusage
	Siginfo         = unix.Siginfo
	Sockaddr        = unix.Sockaddr
	SockaddrNetlink = unix.SockaddrNetlink
	SockaddrUnix    = unix.SockaddrUnix
	Stat_t          = unix.Stat_t
	Statfs_t        = unix.Statfs_t
	StatxTimestamp  = unix.StatxTimestamp
	Statx_t         = unix.Statx_t
	Sysinfo_t       = unix.Sysinfo_t
	Timespec        = unix.Timespec
	Timeval         = unix.Timeval
	Ucred           = unix.Ucred
	Utsname         = unix.Utsname
)

// Portable reports whether this program was built for a system other than Linux. Then it checks, shows and
// formats graphs, and runs none.
const Portable = false

// Error numbers.
const (
	E2BIG         = unix.E2BIG
	EACCES        = unix.EACCES
	EADDRNOTAVAIL = unix.EADDRNOTAVAIL
	EAGAIN        = unix.EAGAIN
	EBUSY         = unix.EBUSY
	ECONNREFUSED  = unix.ECONNREFUSED
	EDQUOT        = unix.EDQUOT
	EEXIST        = unix.EEXIST
	EINTR         = unix.EINTR
	EINVAL        = unix.EINVAL
	EIO           = unix.EIO
	EISDIR        = unix.EISDIR
	ELOOP         = unix.ELOOP
	EMFILE        = unix.EMFILE
	EMSGSIZE      = unix.EMSGSIZE
	ENFILE        = unix.ENFILE
	ENOBUFS       = unix.ENOBUFS
	ENODATA       = unix.ENODATA
	ENODEV        = unix.ENODEV
	ENOENT        = unix.ENOENT
	ENOSPC        = unix.ENOSPC
	ENOSYS        = unix.ENOSYS
	ENOTCONN      = unix.ENOTCONN
	ENOTDIR       = unix.ENOTDIR
	ENOTEMPTY     = unix.ENOTEMPTY
	ENOTSUP       = unix.ENOTSUP
	EPERM         = unix.EPERM
	ERANGE        = unix.ERANGE
	EROFS         = unix.EROFS
	ESRCH         = unix.ESRCH
	ESTALE        = unix.ESTALE
	ETIMEDOUT     = unix.ETIMEDOUT
	EWOULDBLOCK   = unix.EWOULDBLOCK
	EXDEV         = unix.EXDEV
)

// Constants of the kernel.
const (
	AF_NETLINK            = unix.AF_NETLINK
	AF_UNIX               = unix.AF_UNIX
	AT_EMPTY_PATH         = unix.AT_EMPTY_PATH
	AT_FDCWD              = unix.AT_FDCWD
	AT_REMOVEDIR          = unix.AT_REMOVEDIR
	AT_STATX_DONT_SYNC    = unix.AT_STATX_DONT_SYNC
	AT_SYMLINK_FOLLOW     = unix.AT_SYMLINK_FOLLOW
	AT_SYMLINK_NOFOLLOW   = unix.AT_SYMLINK_NOFOLLOW
	BTRFS_SUPER_MAGIC     = unix.BTRFS_SUPER_MAGIC
	CLOSE_RANGE_CLOEXEC   = unix.CLOSE_RANGE_CLOEXEC
	DT_REG                = unix.DT_REG
	EPOLLET               = unix.EPOLLET
	EPOLLIN               = unix.EPOLLIN
	EPOLLPRI              = unix.EPOLLPRI
	EPOLL_CLOEXEC         = unix.EPOLL_CLOEXEC
	EPOLL_CTL_ADD         = unix.EPOLL_CTL_ADD
	EXT4_SUPER_MAGIC      = unix.EXT4_SUPER_MAGIC
	F2FS_SUPER_MAGIC      = unix.F2FS_SUPER_MAGIC
	F_ADD_SEALS           = unix.F_ADD_SEALS
	F_DUPFD_CLOEXEC       = unix.F_DUPFD_CLOEXEC
	F_GETLK               = unix.F_GETLK
	F_OFD_SETLK           = unix.F_OFD_SETLK
	F_RDLCK               = unix.F_RDLCK
	F_SEAL_GROW           = unix.F_SEAL_GROW
	F_SEAL_SEAL           = unix.F_SEAL_SEAL
	F_SEAL_SHRINK         = unix.F_SEAL_SHRINK
	F_SEAL_WRITE          = unix.F_SEAL_WRITE
	F_SETLEASE            = unix.F_SETLEASE
	F_UNLCK               = unix.F_UNLCK
	F_WRLCK               = unix.F_WRLCK
	IFA_F_NOPREFIXROUTE   = unix.IFA_F_NOPREFIXROUTE
	IN_ATTRIB             = unix.IN_ATTRIB
	IN_CLOEXEC            = unix.IN_CLOEXEC
	IN_CLOSE_WRITE        = unix.IN_CLOSE_WRITE
	IN_DELETE_SELF        = unix.IN_DELETE_SELF
	IN_DONT_FOLLOW        = unix.IN_DONT_FOLLOW
	IN_MOVE_SELF          = unix.IN_MOVE_SELF
	IN_NONBLOCK           = unix.IN_NONBLOCK
	ISOFS_SUPER_MAGIC     = unix.ISOFS_SUPER_MAGIC
	LOCK_EX               = unix.LOCK_EX
	LOCK_NB               = unix.LOCK_NB
	LOCK_UN               = unix.LOCK_UN
	MFD_ALLOW_SEALING     = unix.MFD_ALLOW_SEALING
	MFD_CLOEXEC           = unix.MFD_CLOEXEC
	MNT_DETACH            = unix.MNT_DETACH
	MNT_EXPIRE            = unix.MNT_EXPIRE
	MSDOS_SUPER_MAGIC     = unix.MSDOS_SUPER_MAGIC
	MS_BIND               = unix.MS_BIND
	MS_NOATIME            = unix.MS_NOATIME
	MS_NODEV              = unix.MS_NODEV
	MS_NOEXEC             = unix.MS_NOEXEC
	MS_NOSUID             = unix.MS_NOSUID
	MS_NOSYMFOLLOW        = unix.MS_NOSYMFOLLOW
	MS_RDONLY             = unix.MS_RDONLY
	MS_RELATIME           = unix.MS_RELATIME
	MS_REMOUNT            = unix.MS_REMOUNT
	NETLINK_ROUTE         = unix.NETLINK_ROUTE
	OVERLAYFS_SUPER_MAGIC = unix.OVERLAYFS_SUPER_MAGIC
	O_APPEND              = unix.O_APPEND
	O_CLOEXEC             = unix.O_CLOEXEC
	O_CREAT               = unix.O_CREAT
	O_DIRECTORY           = unix.O_DIRECTORY
	O_EXCL                = unix.O_EXCL
	O_NOCTTY              = unix.O_NOCTTY
	O_NOFOLLOW            = unix.O_NOFOLLOW
	O_NONBLOCK            = unix.O_NONBLOCK
	O_PATH                = unix.O_PATH
	O_RDONLY              = unix.O_RDONLY
	O_TMPFILE             = unix.O_TMPFILE
	O_WRONLY              = unix.O_WRONLY
	PIDFD_NONBLOCK        = unix.PIDFD_NONBLOCK
	POLLERR               = unix.POLLERR
	POLLHUP               = unix.POLLHUP
	POLLIN                = unix.POLLIN
	POLLPRI               = unix.POLLPRI
	PR_GET_SECUREBITS     = unix.PR_GET_SECUREBITS
	P_PID                 = unix.P_PID
	PathMax               = unix.PathMax
	RAMFS_MAGIC           = unix.RAMFS_MAGIC
	RENAME_NOREPLACE      = unix.RENAME_NOREPLACE
	RESOLVE_BENEATH       = unix.RESOLVE_BENEATH
	RESOLVE_NO_MAGICLINKS = unix.RESOLVE_NO_MAGICLINKS
	RESOLVE_NO_SYMLINKS   = unix.RESOLVE_NO_SYMLINKS
	RLIMIT_AS             = unix.RLIMIT_AS
	RLIMIT_NOFILE         = unix.RLIMIT_NOFILE
	RTMGRP_IPV4_IFADDR    = unix.RTMGRP_IPV4_IFADDR
	RTMGRP_IPV6_IFADDR    = unix.RTMGRP_IPV6_IFADDR
	RTNLGRP_IPV4_IFADDR   = unix.RTNLGRP_IPV4_IFADDR
	RTNLGRP_IPV4_NETCONF  = unix.RTNLGRP_IPV4_NETCONF
	RTNLGRP_IPV4_ROUTE    = unix.RTNLGRP_IPV4_ROUTE
	RTNLGRP_IPV6_IFADDR   = unix.RTNLGRP_IPV6_IFADDR
	RTNLGRP_IPV6_NETCONF  = unix.RTNLGRP_IPV6_NETCONF
	RTNLGRP_IPV6_ROUTE    = unix.RTNLGRP_IPV6_ROUTE
	RTNLGRP_LINK          = unix.RTNLGRP_LINK
	RTN_UNICAST           = unix.RTN_UNICAST
	RTPROT_BOOT           = unix.RTPROT_BOOT
	RTPROT_STATIC         = unix.RTPROT_STATIC
	RTPROT_UNSPEC         = unix.RTPROT_UNSPEC
	RUSAGE_SELF           = unix.RUSAGE_SELF
	SIGKILL               = unix.SIGKILL
	SIGSTOP               = unix.SIGSTOP
	SOCK_CLOEXEC          = unix.SOCK_CLOEXEC
	SOCK_NONBLOCK         = unix.SOCK_NONBLOCK
	SOCK_RAW              = unix.SOCK_RAW
	SOCK_STREAM           = unix.SOCK_STREAM
	SOL_SOCKET            = unix.SOL_SOCKET
	SOMAXCONN             = unix.SOMAXCONN
	SO_PEERCRED           = unix.SO_PEERCRED
	SO_PEERGROUPS         = unix.SO_PEERGROUPS
	SQUASHFS_MAGIC        = unix.SQUASHFS_MAGIC
	STATX_ATTR_APPEND     = unix.STATX_ATTR_APPEND
	STATX_ATTR_IMMUTABLE  = unix.STATX_ATTR_IMMUTABLE
	STATX_MNT_ID          = unix.STATX_MNT_ID
	ST_NOATIME            = unix.ST_NOATIME
	ST_NODEV              = unix.ST_NODEV
	ST_NOEXEC             = unix.ST_NOEXEC
	ST_NOSUID             = unix.ST_NOSUID
	ST_RDONLY             = unix.ST_RDONLY
	ST_RELATIME           = unix.ST_RELATIME
	S_IFBLK               = unix.S_IFBLK
	S_IFDIR               = unix.S_IFDIR
	S_IFIFO               = unix.S_IFIFO
	S_IFLNK               = unix.S_IFLNK
	S_IFMT                = unix.S_IFMT
	S_IFREG               = unix.S_IFREG
	S_IFSOCK              = unix.S_IFSOCK
	S_IROTH               = unix.S_IROTH
	S_ISGID               = unix.S_ISGID
	S_ISUID               = unix.S_ISUID
	S_ISVTX               = unix.S_ISVTX
	S_IWGRP               = unix.S_IWGRP
	S_IWOTH               = unix.S_IWOTH
	TIOCGPTN              = unix.TIOCGPTN
	TIOCINQ               = unix.TIOCINQ
	TIOCSPTLCK            = unix.TIOCSPTLCK
	TMPFS_MAGIC           = unix.TMPFS_MAGIC
	UMOUNT_NOFOLLOW       = unix.UMOUNT_NOFOLLOW
	WEXITED               = unix.WEXITED
	WNOWAIT               = unix.WNOWAIT
	XFS_SUPER_MAGIC       = unix.XFS_SUPER_MAGIC
)

func Bind(fd int, sa Sockaddr) (err error) { return unix.Bind(fd, sa) }

func ByteSliceToString(s []byte) string { return unix.ByteSliceToString(s) }

func Chmod(path string, mode uint32) (err error) { return unix.Chmod(path, mode) }

func Close(fd int) (err error) { return unix.Close(fd) }

func CloseRange(first uint, last uint, flags uint) (err error) {
	return unix.CloseRange(first, last, flags)
}

func EpollCreate1(flag int) (fd int, err error) { return unix.EpollCreate1(flag) }

func EpollCtl(epfd int, op int, fd int, event *EpollEvent) (err error) {
	return unix.EpollCtl(epfd, op, fd, event)
}

func EpollWait(epfd int, events []EpollEvent, msec int) (n int, err error) {
	return unix.EpollWait(epfd, events, msec)
}

func Fallocate(fd int, mode uint32, off int64, len int64) (err error) {
	return unix.Fallocate(fd, mode, off, len)
}

func Fchmod(fd int, mode uint32) (err error) { return unix.Fchmod(fd, mode) }

func Fchown(fd int, uid int, gid int) (err error) { return unix.Fchown(fd, uid, gid) }

func Fchownat(dirfd int, path string, uid int, gid int, flags int) (err error) {
	return unix.Fchownat(dirfd, path, uid, gid, flags)
}

func FcntlFlock(fd uintptr, cmd int, lk *Flock_t) error { return unix.FcntlFlock(fd, cmd, lk) }

func FcntlInt(fd uintptr, cmd int, arg int) (int, error) { return unix.FcntlInt(fd, cmd, arg) }

func Fgetxattr(fd int, attr string, dest []byte) (sz int, err error) {
	return unix.Fgetxattr(fd, attr, dest)
}

func Flistxattr(fd int, dest []byte) (sz int, err error) { return unix.Flistxattr(fd, dest) }

func Flock(fd int, how int) (err error) { return unix.Flock(fd, how) }

func Fremovexattr(fd int, attr string) (err error) { return unix.Fremovexattr(fd, attr) }

func Fsetxattr(fd int, attr string, dest []byte, flags int) (err error) {
	return unix.Fsetxattr(fd, attr, dest, flags)
}

func Fstat(fd int, stat *Stat_t) (err error) { return unix.Fstat(fd, stat) }

func Fstatat(dirfd int, path string, stat *Stat_t, flags int) (err error) {
	return unix.Fstatat(dirfd, path, stat, flags)
}

func Fsync(fd int) (err error) { return unix.Fsync(fd) }

func Ftruncate(fd int, length int64) (err error) { return unix.Ftruncate(fd, length) }

func Getdents(fd int, buf []byte) (n int, err error) { return unix.Getdents(fd, buf) }

func Geteuid() (euid int) { return unix.Geteuid() }

func Getgroups() (gids []int, err error) { return unix.Getgroups() }

func Getrlimit(resource int, rlim *Rlimit) (err error) { return unix.Getrlimit(resource, rlim) }

func Getrusage(who int, rusage *Rusage) (err error) { return unix.Getrusage(who, rusage) }

func GetsockoptUcred(fd int, level int, opt int) (*Ucred, error) {
	return unix.GetsockoptUcred(fd, level, opt)
}

func Getxattr(path string, attr string, dest []byte) (sz int, err error) {
	return unix.Getxattr(path, attr, dest)
}

func InotifyAddWatch(fd int, pathname string, mask uint32) (watchdesc int, err error) {
	return unix.InotifyAddWatch(fd, pathname, mask)
}

func InotifyInit1(flags int) (fd int, err error) { return unix.InotifyInit1(flags) }

func IoctlGetInt(fd int, req uint) (int, error) { return unix.IoctlGetInt(fd, req) }

func IoctlSetPointerInt(fd int, req uint, value int) error {
	return unix.IoctlSetPointerInt(fd, req, value)
}

func Kill(pid int, sig syscall.Signal) (err error) { return unix.Kill(pid, sig) }

func Lgetxattr(path string, attr string, dest []byte) (sz int, err error) {
	return unix.Lgetxattr(path, attr, dest)
}

func Linkat(olddirfd int, oldpath string, newdirfd int, newpath string, flags int) (err error) {
	return unix.Linkat(olddirfd, oldpath, newdirfd, newpath, flags)
}

func Listen(s int, n int) (err error) { return unix.Listen(s, n) }

func Llistxattr(path string, dest []byte) (sz int, err error) { return unix.Llistxattr(path, dest) }

func Lsetxattr(path string, attr string, data []byte, flags int) (err error) {
	return unix.Lsetxattr(path, attr, data, flags)
}

func Lstat(path string, stat *Stat_t) (err error) { return unix.Lstat(path, stat) }

func Major(dev uint64) uint32 { return unix.Major(dev) }

func MemfdCreate(name string, flags int) (fd int, err error) { return unix.MemfdCreate(name, flags) }

func Minor(dev uint64) uint32 { return unix.Minor(dev) }

func Mkdirat(dirfd int, path string, mode uint32) (err error) { return unix.Mkdirat(dirfd, path, mode) }

func Mount(source string, target string, fstype string, flags uintptr, data string) (err error) {
	return unix.Mount(source, target, fstype, flags, data)
}

func Open(path string, mode int, perm uint32) (fd int, err error) { return unix.Open(path, mode, perm) }

func Openat(dirfd int, path string, flags int, mode uint32) (fd int, err error) {
	return unix.Openat(dirfd, path, flags, mode)
}

func Openat2(dirfd int, path string, how *OpenHow) (fd int, err error) {
	return unix.Openat2(dirfd, path, how)
}

func ParseDirent(buf []byte, max int, names []string) (consumed int, count int, newnames []string) {
	return unix.ParseDirent(buf, max, names)
}

func PidfdOpen(pid int, flags int) (fd int, err error) { return unix.PidfdOpen(pid, flags) }

func PidfdSendSignal(pidfd int, sig Signal, info *Siginfo, flags int) (err error) {
	return unix.PidfdSendSignal(pidfd, sig, info, flags)
}

func Poll(fds []PollFd, timeout int) (n int, err error) { return unix.Poll(fds, timeout) }

func PrctlRetInt(option int, arg2 uintptr, arg3 uintptr, arg4 uintptr, arg5 uintptr) (int, error) {
	return unix.PrctlRetInt(option, arg2, arg3, arg4, arg5)
}

func Read(fd int, p []byte) (n int, err error) { return unix.Read(fd, p) }

func ReadDirent(fd int, buf []byte) (n int, err error) { return unix.ReadDirent(fd, buf) }

func Readlink(path string, buf []byte) (n int, err error) { return unix.Readlink(path, buf) }

func Readlinkat(dirfd int, path string, buf []byte) (n int, err error) {
	return unix.Readlinkat(dirfd, path, buf)
}

func Recvfrom(fd int, p []byte, flags int) (n int, from Sockaddr, err error) {
	return unix.Recvfrom(fd, p, flags)
}

func Removexattr(path string, attr string) (err error) { return unix.Removexattr(path, attr) }

func Renameat(olddirfd int, oldpath string, newdirfd int, newpath string) (err error) {
	return unix.Renameat(olddirfd, oldpath, newdirfd, newpath)
}

func Renameat2(olddirfd int, oldpath string, newdirfd int, newpath string, flags uint) (err error) {
	return unix.Renameat2(olddirfd, oldpath, newdirfd, newpath, flags)
}

func SchedGetaffinity(pid int, set *CPUSet) error { return unix.SchedGetaffinity(pid, set) }

func Seek(fd int, offset int64, whence int) (off int64, err error) {
	return unix.Seek(fd, offset, whence)
}

func SetNonblock(fd int, nonblocking bool) (err error) { return unix.SetNonblock(fd, nonblocking) }

func SetfsgidRetGid(gid int) (int, error) { return unix.SetfsgidRetGid(gid) }

func SetfsuidRetUid(uid int) (int, error) { return unix.SetfsuidRetUid(uid) }

func Sethostname(p []byte) (err error) { return unix.Sethostname(p) }

func Setxattr(path string, attr string, data []byte, flags int) (err error) {
	return unix.Setxattr(path, attr, data, flags)
}

func SignalName(s syscall.Signal) string { return unix.SignalName(s) }

func SignalNum(s string) syscall.Signal { return unix.SignalNum(s) }

func Socket(domain int, typ int, proto int) (fd int, err error) {
	return unix.Socket(domain, typ, proto)
}

func Stat(path string, stat *Stat_t) (err error) { return unix.Stat(path, stat) }

func Statfs(path string, buf *Statfs_t) (err error) { return unix.Statfs(path, buf) }

func Statx(dirfd int, path string, flags int, mask int, stat *Statx_t) (err error) {
	return unix.Statx(dirfd, path, flags, mask, stat)
}

func Symlinkat(oldpath string, newdirfd int, newpath string) (err error) {
	return unix.Symlinkat(oldpath, newdirfd, newpath)
}

func Syncfs(fd int) (err error) { return unix.Syncfs(fd) }

func Sysinfo(info *Sysinfo_t) (err error) { return unix.Sysinfo(info) }

func Uname(buf *Utsname) (err error) { return unix.Uname(buf) }

func UnixRights(fds ...int) []byte { return unix.UnixRights(fds...) }

func Unlinkat(dirfd int, path string, flags int) (err error) {
	return unix.Unlinkat(dirfd, path, flags)
}

func Unmount(target string, flags int) (err error) { return unix.Unmount(target, flags) }

func Waitid(idType int, id int, info *Siginfo, options int, rusage *Rusage) (err error) {
	return unix.Waitid(idType, id, info, options, rusage)
}

func Write(fd int, p []byte) (n int, err error) { return unix.Write(fd, p) }

// PeerGroups returns the other groups of who has connected to a socket, as they were then; nil if that is not known.
// unix has no wrapper for this option.
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
func NewSession(cred *Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: cred}
}

// StartIn starts a program in a control group, which an open folder names; with a number below 0 in that of this process.
func StartIn(attr *syscall.SysProcAttr, folder int) {
	attr.UseCgroupFD, attr.CgroupFD = folder >= 0, max(folder, 0)
}
