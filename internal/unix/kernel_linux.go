//go:build !mgmt_portable

package unix

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Types of the kernel.
// The man pages of section 2 have the meaning of each call and constant. The comments here
// name the uses in this program, and the traps of a call.
type (
	// Credential is the user, group and other groups that a child process begins with.
	Credential = syscall.Credential
	FileHandle = unix.FileHandle // what name_to_handle_at(2) tells of a file
	FileStat   = syscall.Stat_t  // what the Sys of an fs.FileInfo points to
	// CPUSet are the processors a thread may run on, a bit for each.
	CPUSet = unix.CPUSet
	// EpollEvent names a descriptor and the readiness that is awaited. Package host waits
	// so for another host name and for other addresses, pkglock for a lock.
	EpollEvent = unix.EpollEvent
	Signal     = unix.Signal
	Errno      = unix.Errno
	// Flock_t is a range of a file and the lock on it; dpkg and rpm lock their databases
	// so, see fcntl(2).
	Flock_t = unix.Flock_t
	Fsid    = unix.Fsid
	// OpenHow has the flags of openat2(2), chief of them the RESOLVE ones that keep a path
	// below a folder.
	OpenHow = unix.OpenHow
	PollFd  = unix.PollFd
	// Rlimit is the soft and the hard limit of one resource, in its own unit: bytes for
	// RLIMIT_AS, descriptors for RLIMIT_NOFILE.
	Rlimit   = unix.Rlimit
	Rusage   = unix.Rusage
	Siginfo  = unix.Siginfo
	Sockaddr = unix.Sockaddr
	// SockaddrNetlink has the groups of messages that a netlink socket receives, as a mask
	// of bits.
	SockaddrNetlink = unix.SockaddrNetlink
	SockaddrUnix    = unix.SockaddrUnix
	// Stat_t has times in nanoseconds, sizes in bytes, and Blocks in units of 512 bytes.
	Stat_t = unix.Stat_t
	// Statfs_t has the magic number of a file system in Type, and its free space in units
	// of Bsize bytes.
	Statfs_t       = unix.Statfs_t
	StatxTimestamp = unix.StatxTimestamp
	// Statx_t has more than Stat_t: the id of the mount and the attributes immutable and
	// append.
	Statx_t = unix.Statx_t
	// Sysinfo_t has the uptime in seconds and the memory in units of Unit bytes.
	Sysinfo_t = unix.Sysinfo_t
	// Timespec has nanoseconds, Timeval has microseconds.
	Timespec = unix.Timespec
	Timeval  = unix.Timeval
	// Ucred are the process, user and group at the other end of a local socket, as they
	// were at connect(2).
	Ucred   = unix.Ucred
	Utsname = unix.Utsname
)

// Error numbers.
// Callers compare with errors.Is, since package os wraps an error with its call and path.
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
	// The events of fanotify(7) and inotify(7), for package host. A folder is marked, and tells of the names in it.
	AFS_SUPER_MAGIC               = unix.AFS_SUPER_MAGIC
	AT_HANDLE_FID                 = 0x200 // a handle to compare, which need not lead to the file; Linux 6.5
	CEPH_SUPER_MAGIC              = unix.CEPH_SUPER_MAGIC
	CIFS_SUPER_MAGIC              = unix.CIFS_SUPER_MAGIC
	EPOLLONESHOT                  = unix.EPOLLONESHOT
	EPOLL_CTL_DEL                 = unix.EPOLL_CTL_DEL
	EPOLL_CTL_MOD                 = unix.EPOLL_CTL_MOD
	FAN_ATTRIB                    = unix.FAN_ATTRIB
	FAN_CLASS_NOTIF               = unix.FAN_CLASS_NOTIF
	FAN_CLOEXEC                   = unix.FAN_CLOEXEC
	FAN_CLOSE_WRITE               = unix.FAN_CLOSE_WRITE
	FAN_CREATE                    = unix.FAN_CREATE
	FAN_DELETE                    = unix.FAN_DELETE
	FAN_DELETE_SELF               = unix.FAN_DELETE_SELF
	FAN_EVENT_INFO_TYPE_DFID      = unix.FAN_EVENT_INFO_TYPE_DFID
	FAN_EVENT_INFO_TYPE_DFID_NAME = unix.FAN_EVENT_INFO_TYPE_DFID_NAME
	FAN_EVENT_INFO_TYPE_FID       = unix.FAN_EVENT_INFO_TYPE_FID
	FAN_EVENT_INFO_TYPE_PIDFD     = unix.FAN_EVENT_INFO_TYPE_PIDFD
	FAN_EVENT_ON_CHILD            = unix.FAN_EVENT_ON_CHILD
	FAN_MARK_ADD                  = unix.FAN_MARK_ADD
	FAN_MARK_ONLYDIR              = unix.FAN_MARK_ONLYDIR
	FAN_MARK_REMOVE               = unix.FAN_MARK_REMOVE
	FAN_MODIFY                    = unix.FAN_MODIFY
	FAN_MOVED_FROM                = unix.FAN_MOVED_FROM
	FAN_MOVED_TO                  = unix.FAN_MOVED_TO
	FAN_MOVE_SELF                 = unix.FAN_MOVE_SELF
	FAN_NONBLOCK                  = unix.FAN_NONBLOCK
	FAN_ONDIR                     = unix.FAN_ONDIR
	FAN_Q_OVERFLOW                = unix.FAN_Q_OVERFLOW
	FAN_REPORT_DFID_NAME          = unix.FAN_REPORT_DFID_NAME
	FAN_REPORT_FID                = unix.FAN_REPORT_FID
	FAN_REPORT_PIDFD              = unix.FAN_REPORT_PIDFD
	FAN_REPORT_TARGET_FID         = unix.FAN_REPORT_TARGET_FID
	FAN_UNLIMITED_MARKS           = unix.FAN_UNLIMITED_MARKS
	FUSE_SUPER_MAGIC              = unix.FUSE_SUPER_MAGIC
	IN_CREATE                     = unix.IN_CREATE
	IN_DELETE                     = unix.IN_DELETE
	IN_EXCL_UNLINK                = unix.IN_EXCL_UNLINK
	IN_IGNORED                    = unix.IN_IGNORED
	IN_ISDIR                      = unix.IN_ISDIR
	IN_MODIFY                     = unix.IN_MODIFY
	IN_MOVED_FROM                 = unix.IN_MOVED_FROM
	IN_MOVED_TO                   = unix.IN_MOVED_TO
	IN_ONLYDIR                    = unix.IN_ONLYDIR
	IN_Q_OVERFLOW                 = unix.IN_Q_OVERFLOW
	NFS_SUPER_MAGIC               = unix.NFS_SUPER_MAGIC
	SMB2_SUPER_MAGIC              = unix.SMB2_SUPER_MAGIC
	SizeofInotifyEvent            = unix.SizeofInotifyEvent
	V9FS_MAGIC                    = unix.V9FS_MAGIC
	// Families of sockets: netlink carries news of interfaces and routes, unix is the
	// control socket.
	AF_NETLINK = unix.AF_NETLINK
	AF_UNIX    = unix.AF_UNIX
	// Flags of the calls that end in "at". AT_FDCWD in place of a folder means the working
	// folder.
	AT_EMPTY_PATH       = unix.AT_EMPTY_PATH
	AT_FDCWD            = unix.AT_FDCWD
	AT_REMOVEDIR        = unix.AT_REMOVEDIR
	AT_STATX_DONT_SYNC  = unix.AT_STATX_DONT_SYNC
	AT_SYMLINK_FOLLOW   = unix.AT_SYMLINK_FOLLOW
	AT_SYMLINK_NOFOLLOW = unix.AT_SYMLINK_NOFOLLOW
	// Magic numbers of file systems are in statfs(2). Package atomicfile tells by them how
	// finely a file system counts time.
	BTRFS_SUPER_MAGIC = unix.BTRFS_SUPER_MAGIC
	// Descriptors that are not for the child are closed at execve(2), and not before.
	CLOSE_RANGE_CLOEXEC = unix.CLOSE_RANGE_CLOEXEC
	DT_REG              = unix.DT_REG
	// EPOLLET tells of changes and not of states; EPOLLPRI is how
	// /proc/sys/kernel/hostname tells of a new name.
	EPOLLET          = unix.EPOLLET
	EPOLLIN          = unix.EPOLLIN
	EPOLLPRI         = unix.EPOLLPRI
	EPOLL_CLOEXEC    = unix.EPOLL_CLOEXEC
	EPOLL_CTL_ADD    = unix.EPOLL_CTL_ADD
	EXT4_SUPER_MAGIC = unix.EXT4_SUPER_MAGIC
	F2FS_SUPER_MAGIC = unix.F2FS_SUPER_MAGIC
	// Seals of a memfd: after F_SEAL_WRITE no process can alter its content, also not its
	// maker.
	F_ADD_SEALS     = unix.F_ADD_SEALS
	F_DUPFD_CLOEXEC = unix.F_DUPFD_CLOEXEC
	// F_GETLK names the process that holds a conflicting lock. F_OFD_SETLK takes a lock
	// that belongs to the open file, so closing another descriptor of that file does not
	// give it up.
	F_GETLK       = unix.F_GETLK
	F_OFD_SETLK   = unix.F_OFD_SETLK
	F_RDLCK       = unix.F_RDLCK
	F_SEAL_GROW   = unix.F_SEAL_GROW
	F_SEAL_SEAL   = unix.F_SEAL_SEAL
	F_SEAL_SHRINK = unix.F_SEAL_SHRINK
	F_SEAL_WRITE  = unix.F_SEAL_WRITE
	F_SETLEASE    = unix.F_SETLEASE
	F_UNLCK       = unix.F_UNLCK
	F_WRLCK       = unix.F_WRLCK
	// The kernel then adds no route to the network of an address that is added.
	IFA_F_NOPREFIXROUTE = unix.IFA_F_NOPREFIXROUTE
	// Events of inotify(7). IN_MOVE_SELF does not name the new path, so a watch follows
	// the file and not its name.
	IN_ATTRIB         = unix.IN_ATTRIB
	IN_CLOEXEC        = unix.IN_CLOEXEC
	IN_CLOSE_WRITE    = unix.IN_CLOSE_WRITE
	IN_DELETE_SELF    = unix.IN_DELETE_SELF
	IN_DONT_FOLLOW    = unix.IN_DONT_FOLLOW
	IN_MOVE_SELF      = unix.IN_MOVE_SELF
	IN_NONBLOCK       = unix.IN_NONBLOCK
	ISOFS_SUPER_MAGIC = unix.ISOFS_SUPER_MAGIC
	// Locks of flock(2), which a child inherits with the descriptor.
	LOCK_EX           = unix.LOCK_EX
	LOCK_NB           = unix.LOCK_NB
	LOCK_UN           = unix.LOCK_UN
	MFD_ALLOW_SEALING = unix.MFD_ALLOW_SEALING
	MFD_CLOEXEC       = unix.MFD_CLOEXEC
	// MNT_DETACH takes a mount out of the tree at once, and ends it when its last user has
	// gone.
	MNT_DETACH        = unix.MNT_DETACH
	MNT_EXPIRE        = unix.MNT_EXPIRE
	MSDOS_SUPER_MAGIC = unix.MSDOS_SUPER_MAGIC
	// Flags of mount(2). A bind mount takes its other flags only at a second call with
	// MS_REMOUNT.
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
	// Flags of open(2). O_PATH opens a name without a right to its content; O_NOFOLLOW
	// guards only the last part of a path.
	O_APPEND       = unix.O_APPEND
	O_CLOEXEC      = unix.O_CLOEXEC
	O_CREAT        = unix.O_CREAT
	O_DIRECTORY    = unix.O_DIRECTORY
	O_EXCL         = unix.O_EXCL
	O_NOCTTY       = unix.O_NOCTTY
	SEEK_DATA      = unix.SEEK_DATA
	O_NOFOLLOW     = unix.O_NOFOLLOW
	O_NONBLOCK     = unix.O_NONBLOCK
	O_PATH         = unix.O_PATH
	O_RDONLY       = unix.O_RDONLY
	O_TMPFILE      = unix.O_TMPFILE
	O_WRONLY       = unix.O_WRONLY
	PIDFD_NONBLOCK = unix.PIDFD_NONBLOCK
	// POLLERR and POLLHUP come also when poll(2) was not asked for them.
	POLLERR           = unix.POLLERR
	POLLHUP           = unix.POLLHUP
	POLLIN            = unix.POLLIN
	POLLPRI           = unix.POLLPRI
	PR_GET_SECUREBITS = unix.PR_GET_SECUREBITS
	P_PID             = unix.P_PID
	PathMax           = unix.PathMax
	// The file systems of the kernel, whose files can block a reader, or do something where they are read.
	CGROUP2_SUPER_MAGIC = unix.CGROUP2_SUPER_MAGIC
	DEBUGFS_MAGIC       = unix.DEBUGFS_MAGIC
	PROC_SUPER_MAGIC    = unix.PROC_SUPER_MAGIC
	SYSFS_MAGIC         = unix.SYSFS_MAGIC
	TRACEFS_MAGIC       = unix.TRACEFS_MAGIC
	RAMFS_MAGIC         = unix.RAMFS_MAGIC
	// RENAME_NOREPLACE makes renameat2(2) fail with EEXIST; some file systems answer
	// EINVAL to it.
	RENAME_NOREPLACE = unix.RENAME_NOREPLACE
	// RENAME_EXCHANGE has two names exchange what they lead to; since Linux 3.15, on most file systems.
	RENAME_EXCHANGE = unix.RENAME_EXCHANGE
	// RESOLVE_BENEATH refuses a path that leaves its folder with EXDEV, a link to the
	// outside included.
	RESOLVE_BENEATH       = unix.RESOLVE_BENEATH
	RESOLVE_NO_MAGICLINKS = unix.RESOLVE_NO_MAGICLINKS
	RESOLVE_NO_SYMLINKS   = unix.RESOLVE_NO_SYMLINKS
	RLIMIT_AS             = unix.RLIMIT_AS
	RLIMIT_NOFILE         = unix.RLIMIT_NOFILE
	// RTMGRP are bits of a mask and RTNLGRP are numbers, for the same groups of netlink
	// messages.
	RTMGRP_IPV4_IFADDR   = unix.RTMGRP_IPV4_IFADDR
	RTMGRP_IPV6_IFADDR   = unix.RTMGRP_IPV6_IFADDR
	RTNLGRP_IPV4_IFADDR  = unix.RTNLGRP_IPV4_IFADDR
	RTNLGRP_IPV4_NETCONF = unix.RTNLGRP_IPV4_NETCONF
	RTNLGRP_IPV4_ROUTE   = unix.RTNLGRP_IPV4_ROUTE
	RTNLGRP_IPV6_IFADDR  = unix.RTNLGRP_IPV6_IFADDR
	RTNLGRP_IPV6_NETCONF = unix.RTNLGRP_IPV6_NETCONF
	RTNLGRP_IPV6_ROUTE   = unix.RTNLGRP_IPV6_ROUTE
	RTNLGRP_LINK         = unix.RTNLGRP_LINK
	// RTPROT_BOOT marks a route that a person or ip(8) has set, RTPROT_STATIC that of an
	// administrator.
	RTN_UNICAST   = unix.RTN_UNICAST
	RTPROT_BOOT   = unix.RTPROT_BOOT
	RTPROT_STATIC = unix.RTPROT_STATIC
	RTPROT_UNSPEC = unix.RTPROT_UNSPEC
	RUSAGE_SELF   = unix.RUSAGE_SELF
	SIGKILL       = unix.SIGKILL
	SIGCONT       = unix.SIGCONT
	SIGSTOP       = unix.SIGSTOP
	// Each socket is made with SOCK_CLOEXEC: a fork between two calls could else hand it
	// to a child.
	SOCK_CLOEXEC  = unix.SOCK_CLOEXEC
	SOCK_NONBLOCK = unix.SOCK_NONBLOCK
	SOCK_RAW      = unix.SOCK_RAW
	SOCK_STREAM   = unix.SOCK_STREAM
	SOL_SOCKET    = unix.SOL_SOCKET
	SOMAXCONN     = unix.SOMAXCONN
	// SO_PEERCRED and SO_PEERGROUPS tell who connected; the kernel fills them in, so a
	// peer can not lie.
	SO_PEERCRED    = unix.SO_PEERCRED
	SO_PEERGROUPS  = unix.SO_PEERGROUPS
	SQUASHFS_MAGIC = unix.SQUASHFS_MAGIC
	// The attributes of chattr(1): not even root writes to an immutable file.
	STATX_ATTR_APPEND    = unix.STATX_ATTR_APPEND
	STATX_ATTR_IMMUTABLE = unix.STATX_ATTR_IMMUTABLE
	STATX_MNT_ID         = unix.STATX_MNT_ID
	// Flags of statfs(2) for the mount that a path is on. Only ST_RELATIME has another
	// value than its MS flag.
	ST_NOATIME  = unix.ST_NOATIME
	ST_NODEV    = unix.ST_NODEV
	ST_NOEXEC   = unix.ST_NOEXEC
	ST_NOSUID   = unix.ST_NOSUID
	ST_RDONLY   = unix.ST_RDONLY
	ST_RELATIME = unix.ST_RELATIME
	// Kinds of files and bits of a mode. S_IFMT masks the kind, which is a number and not a set of bits.
	S_IFBLK  = unix.S_IFBLK
	S_IFDIR  = unix.S_IFDIR
	S_IFIFO  = unix.S_IFIFO
	S_IFLNK  = unix.S_IFLNK
	S_IFMT   = unix.S_IFMT
	S_IFREG  = unix.S_IFREG
	S_IFSOCK = unix.S_IFSOCK
	S_IROTH  = unix.S_IROTH
	S_ISGID  = unix.S_ISGID
	S_ISUID  = unix.S_ISUID
	S_ISVTX  = unix.S_ISVTX
	S_IWGRP  = unix.S_IWGRP
	S_IWOTH  = unix.S_IWOTH
	// Requests of ioctl(2): the number of a pseudo terminal, the lock on its other side,
	// and the bytes that wait in a pipe, or in a socket for either side.
	TIOCGPTN        = unix.TIOCGPTN
	TIOCINQ         = unix.TIOCINQ
	TIOCOUTQ        = unix.TIOCOUTQ
	TIOCSPTLCK      = unix.TIOCSPTLCK
	TMPFS_MAGIC     = unix.TMPFS_MAGIC
	UMOUNT_NOFOLLOW = unix.UMOUNT_NOFOLLOW
	// WNOWAIT leaves the child waitable, so that package os can still collect it.
	WEXITED         = unix.WEXITED
	WNOWAIT         = unix.WNOWAIT
	XFS_SUPER_MAGIC = unix.XFS_SUPER_MAGIC
)
