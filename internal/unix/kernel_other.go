//go:build !linux || mgmt_portable

package unix

import (
	"syscall"
)

// Types as Linux has them.
// This file lets the other packages compile where the kernel is not that of Linux. Layouts
// and values are those of Linux on amd64. They reach no kernel: a struct stays as its
// maker filled it in.
type (
	Credential struct {
		Uid, Gid    uint32
		Groups      []uint32
		NoSetGroups bool
	}
	FileHandle struct{}
	FileStat   = Stat_t // the Sys of no fs.FileInfo points to one
	CPUSet     [16]uint64
	EpollEvent struct {
		Events uint32
		Fd     int32
		Pad    int32
	}
	Errno   = syscall.Errno
	Signal  = syscall.Signal
	Flock_t struct {
		Type   int16
		Whence int16
		Start  int64
		Len    int64
		Pid    int32
		_      [4]byte
	}
	Fsid    struct{ Val [2]int32 }
	OpenHow struct {
		Flags   uint64
		Mode    uint64
		Resolve uint64
	}
	PollFd struct {
		Fd      int32
		Events  int16
		Revents int16
	}
	Rlimit struct {
		Cur uint64
		Max uint64
	}
	Rusage struct {
		Utime    Timeval
		Stime    Timeval
		Maxrss   int64
		Ixrss    int64
		Idrss    int64
		Isrss    int64
		Minflt   int64
		Majflt   int64
		Nswap    int64
		Inblock  int64
		Oublock  int64
		Msgsnd   int64
		Msgrcv   int64
		Nsignals int64
		Nvcsw    int64
		Nivcsw   int64
	}
	Siginfo struct {
		Signo int32
		Errno int32
		Code  int32
		_     int32
		_     [112]byte
	}
	Sockaddr        any
	SockaddrNetlink struct {
		Family uint16
		Pad    uint16
		Pid    uint32
		Groups uint32
	}
	SockaddrUnix struct {
		Name string
	}
	Stat_t struct {
		Dev     uint64
		Ino     uint64
		Nlink   uint64
		Mode    uint32
		Uid     uint32
		Gid     uint32
		_       int32
		Rdev    uint64
		Size    int64
		Blksize int64
		Blocks  int64
		Atim    Timespec
		Mtim    Timespec
		Ctim    Timespec
		_       [3]int64
	}
	Statfs_t struct {
		Type    int64
		Bsize   int64
		Blocks  uint64
		Bfree   uint64
		Bavail  uint64
		Files   uint64
		Ffree   uint64
		Fsid    Fsid
		Namelen int64
		Frsize  int64
		Flags   int64
		Spare   [4]int64
	}
	StatxTimestamp struct {
		Sec  int64
		Nsec uint32
		_    int32
	}
	Statx_t struct {
		Mask                      uint32
		Blksize                   uint32
		Attributes                uint64
		Nlink                     uint32
		Uid                       uint32
		Gid                       uint32
		Mode                      uint16
		_                         [1]uint16
		Ino                       uint64
		Size                      uint64
		Blocks                    uint64
		Attributes_mask           uint64
		Atime                     StatxTimestamp
		Btime                     StatxTimestamp
		Ctime                     StatxTimestamp
		Mtime                     StatxTimestamp
		Rdev_major                uint32
		Rdev_minor                uint32
		Dev_major                 uint32
		Dev_minor                 uint32
		Mnt_id                    uint64
		Dio_mem_align             uint32
		Dio_offset_align          uint32
		Subvol                    uint64
		Atomic_write_unit_min     uint32
		Atomic_write_unit_max     uint32
		Atomic_write_segments_max uint32
		Dio_read_offset_align     uint32
		Atomic_write_unit_max_opt uint32
		_                         [1]uint32
		_                         [8]uint64
	}
	Sysinfo_t struct {
		Uptime    int64
		Loads     [3]uint64
		Totalram  uint64
		Freeram   uint64
		Sharedram uint64
		Bufferram uint64
		Totalswap uint64
		Freeswap  uint64
		Procs     uint16
		Pad       uint16
		Totalhigh uint64
		Freehigh  uint64
		Unit      uint32
		_         [0]int8
		_         [4]byte
	}
	Timespec struct {
		Sec  int64
		Nsec int64
	}
	Timeval struct {
		Sec  int64
		Usec int64
	}
	Ucred struct {
		Pid int32
		Uid uint32
		Gid uint32
	}
	Utsname struct {
		Sysname    [65]byte
		Nodename   [65]byte
		Release    [65]byte
		Version    [65]byte
		Machine    [65]byte
		Domainname [65]byte
	}
)

// ownErrno is above the numbers of every system.
// An Errno of this system that Linux knows keeps its own number, so errors.Is works with
// errors of package os.
const ownErrno = 1 << 20

// Error numbers: those of the system, and own ones that no system has.
const (
	E2BIG         = syscall.E2BIG
	EACCES        = syscall.EACCES
	EADDRNOTAVAIL = syscall.EADDRNOTAVAIL
	EAGAIN        = syscall.EAGAIN
	EBUSY         = syscall.EBUSY
	ECONNREFUSED  = syscall.ECONNREFUSED
	EDQUOT        = syscall.EDQUOT
	EEXIST        = syscall.EEXIST
	EINTR         = syscall.EINTR
	EINVAL        = syscall.EINVAL
	EIO           = syscall.EIO
	EISDIR        = syscall.EISDIR
	ELOOP         = syscall.ELOOP
	EMFILE        = syscall.EMFILE
	EMSGSIZE      = syscall.EMSGSIZE
	ENFILE        = syscall.ENFILE
	ENOBUFS       = syscall.ENOBUFS
	ENODATA       = Errno(ownErrno + 61)
	ENODEV        = syscall.ENODEV
	ENOENT        = syscall.ENOENT
	ENOSPC        = syscall.ENOSPC
	ENOSYS        = syscall.ENOSYS
	ENOTCONN      = syscall.ENOTCONN
	ENOTDIR       = syscall.ENOTDIR
	ENOTEMPTY     = syscall.ENOTEMPTY
	ENOTSUP       = syscall.ENOTSUP
	EPERM         = syscall.EPERM
	ERANGE        = syscall.ERANGE
	EROFS         = syscall.EROFS
	ESRCH         = syscall.ESRCH
	ESTALE        = syscall.ESTALE
	ETIMEDOUT     = syscall.ETIMEDOUT
	EWOULDBLOCK   = syscall.EWOULDBLOCK
	EXDEV         = syscall.EXDEV
)

// Constants as Linux has them.
// Code that only compares and combines them then works here as it does on Linux.
const (
	AF_NETLINK                    = 0x10
	AF_UNIX                       = 1
	AT_EMPTY_PATH                 = 0x1000
	AT_FDCWD                      = -100
	AT_REMOVEDIR                  = 0x200
	AT_STATX_DONT_SYNC            = 0x4000
	AT_SYMLINK_FOLLOW             = 0x400
	AT_SYMLINK_NOFOLLOW           = 0x100
	BTRFS_SUPER_MAGIC             = 0x9123683e
	CLOSE_RANGE_CLOEXEC           = 4
	DT_REG                        = 8
	EPOLLET                       = 0x80000000
	EPOLLIN                       = 1
	EPOLLPRI                      = 2
	AFS_SUPER_MAGIC               = 0x5346414f
	AT_HANDLE_FID                 = 0x200
	CEPH_SUPER_MAGIC              = 0xc36400
	CIFS_SUPER_MAGIC              = 0xff534d42
	EPOLLONESHOT                  = 0x40000000
	EPOLL_CTL_DEL                 = 2
	EPOLL_CTL_MOD                 = 3
	FAN_ATTRIB                    = 4
	FAN_CLASS_NOTIF               = 0
	FAN_CLOEXEC                   = 1
	FAN_CLOSE_WRITE               = 8
	FAN_CREATE                    = 0x100
	FAN_DELETE                    = 0x200
	FAN_DELETE_SELF               = 0x400
	FAN_EVENT_INFO_TYPE_DFID      = 3
	FAN_EVENT_INFO_TYPE_DFID_NAME = 2
	FAN_EVENT_INFO_TYPE_FID       = 1
	FAN_EVENT_INFO_TYPE_PIDFD     = 4
	FAN_EVENT_ON_CHILD            = 0x8000000
	FAN_MARK_ADD                  = 1
	FAN_MARK_ONLYDIR              = 8
	FAN_MARK_REMOVE               = 2
	FAN_MODIFY                    = 2
	FAN_MOVED_FROM                = 0x40
	FAN_MOVED_TO                  = 0x80
	FAN_MOVE_SELF                 = 0x800
	FAN_NONBLOCK                  = 2
	FAN_ONDIR                     = 0x40000000
	FAN_Q_OVERFLOW                = 0x4000
	FAN_REPORT_DFID_NAME          = 0xc00
	FAN_REPORT_FID                = 0x200
	FAN_REPORT_PIDFD              = 0x80
	FAN_REPORT_TARGET_FID         = 0x1000
	FAN_UNLIMITED_MARKS           = 0x20
	FUSE_SUPER_MAGIC              = 0x65735546
	IN_CREATE                     = 0x100
	IN_DELETE                     = 0x200
	IN_EXCL_UNLINK                = 0x4000000
	IN_IGNORED                    = 0x8000
	IN_ISDIR                      = 0x40000000
	IN_MODIFY                     = 2
	IN_MOVED_FROM                 = 0x40
	IN_MOVED_TO                   = 0x80
	IN_ONLYDIR                    = 0x1000000
	IN_Q_OVERFLOW                 = 0x4000
	NFS_SUPER_MAGIC               = 0x6969
	SMB2_SUPER_MAGIC              = 0xfe534d42
	SizeofInotifyEvent            = 0x10
	V9FS_MAGIC                    = 0x1021997
	EPOLL_CLOEXEC                 = 0x80000
	EPOLL_CTL_ADD                 = 1
	EXT4_SUPER_MAGIC              = 0xef53
	F2FS_SUPER_MAGIC              = 0xf2f52010
	F_ADD_SEALS                   = 0x409
	F_DUPFD_CLOEXEC               = 0x406
	F_GETLK                       = 5
	F_OFD_SETLK                   = 0x25
	F_RDLCK                       = 0
	F_SEAL_GROW                   = 4
	F_SEAL_SEAL                   = 1
	F_SEAL_SHRINK                 = 2
	F_SEAL_WRITE                  = 8
	F_SETLEASE                    = 0x400
	F_UNLCK                       = 2
	F_WRLCK                       = 1
	IFA_F_NOPREFIXROUTE           = 0x200
	IN_ATTRIB                     = 4
	IN_CLOEXEC                    = 0x80000
	IN_CLOSE_WRITE                = 8
	IN_DELETE_SELF                = 0x400
	IN_DONT_FOLLOW                = 0x2000000
	IN_MOVE_SELF                  = 0x800
	IN_NONBLOCK                   = 0x800
	ISOFS_SUPER_MAGIC             = 0x9660
	LOCK_EX                       = 2
	LOCK_NB                       = 4
	LOCK_UN                       = 8
	MFD_ALLOW_SEALING             = 2
	MFD_CLOEXEC                   = 1
	MNT_DETACH                    = 2
	MNT_EXPIRE                    = 4
	MSDOS_SUPER_MAGIC             = 0x4d44
	MS_BIND                       = 0x1000
	MS_NOATIME                    = 0x400
	MS_NODEV                      = 4
	MS_NOEXEC                     = 8
	MS_NOSUID                     = 2
	MS_NOSYMFOLLOW                = 0x100
	MS_RDONLY                     = 1
	MS_RELATIME                   = 0x200000
	MS_REMOUNT                    = 0x20
	NETLINK_ROUTE                 = 0
	OVERLAYFS_SUPER_MAGIC         = 0x794c7630
	O_APPEND                      = syscall.O_APPEND
	O_CLOEXEC                     = 0
	O_CREAT                       = syscall.O_CREAT
	O_DIRECTORY                   = 0
	O_EXCL                        = syscall.O_EXCL
	O_NOCTTY                      = 0
	SEEK_DATA                     = 0
	O_NOFOLLOW                    = 0
	O_NONBLOCK                    = 0
	O_PATH                        = 0
	O_RDONLY                      = 0
	O_TMPFILE                     = 0
	O_WRONLY                      = syscall.O_WRONLY
	PIDFD_NONBLOCK                = 0x800
	POLLERR                       = 8
	POLLHUP                       = 0x10
	POLLIN                        = 1
	POLLPRI                       = 2
	PR_GET_SECUREBITS             = 0x1b
	P_PID                         = 1
	PathMax                       = 0x1000
	CGROUP2_SUPER_MAGIC           = 0x63677270
	DEBUGFS_MAGIC                 = 0x64626720
	PROC_SUPER_MAGIC              = 0x9fa0
	SYSFS_MAGIC                   = 0x62656572
	TRACEFS_MAGIC                 = 0x74726163
	RAMFS_MAGIC                   = 0x858458f6
	RENAME_NOREPLACE              = 1
	RENAME_EXCHANGE               = 2
	RESOLVE_BENEATH               = 8
	RESOLVE_NO_MAGICLINKS         = 2
	RESOLVE_NO_SYMLINKS           = 4
	RLIMIT_AS                     = 9
	RLIMIT_NOFILE                 = 7
	RTMGRP_IPV4_IFADDR            = 0x10
	RTMGRP_IPV6_IFADDR            = 0x100
	RTNLGRP_IPV4_IFADDR           = 5
	RTNLGRP_IPV4_NETCONF          = 0x18
	RTNLGRP_IPV4_ROUTE            = 7
	RTNLGRP_IPV6_IFADDR           = 9
	RTNLGRP_IPV6_NETCONF          = 0x19
	RTNLGRP_IPV6_ROUTE            = 0xb
	RTNLGRP_LINK                  = 1
	RTN_UNICAST                   = 1
	RTPROT_BOOT                   = 3
	RTPROT_STATIC                 = 4
	RTPROT_UNSPEC                 = 0
	RUSAGE_SELF                   = 0
	SIGKILL                       = syscall.Signal(9)
	SIGCONT                       = syscall.Signal(18)
	SIGSTOP                       = syscall.Signal(19)
	SOCK_CLOEXEC                  = 0x80000
	SOCK_NONBLOCK                 = 0x800
	SOCK_RAW                      = 3
	SOCK_STREAM                   = 1
	SOL_SOCKET                    = 1
	SOMAXCONN                     = 0x1000
	SO_PEERCRED                   = 0x11
	SO_PEERGROUPS                 = 0x3b
	SQUASHFS_MAGIC                = 0x73717368
	STATX_ATTR_APPEND             = 0x20
	STATX_ATTR_IMMUTABLE          = 0x10
	STATX_MNT_ID                  = 0x1000
	ST_NOATIME                    = 0x400
	ST_NODEV                      = 4
	ST_NOEXEC                     = 8
	ST_NOSUID                     = 2
	ST_RDONLY                     = 1
	ST_RELATIME                   = 0x1000
	S_IFBLK                       = 0x6000
	S_IFDIR                       = 0x4000
	S_IFIFO                       = 0x1000
	S_IFLNK                       = 0xa000
	S_IFMT                        = 0xf000
	S_IFREG                       = 0x8000
	S_IFSOCK                      = 0xc000
	S_IROTH                       = 4
	S_ISGID                       = 0x400
	S_ISUID                       = 0x800
	S_ISVTX                       = 0x200
	S_IWGRP                       = 0x10
	S_IWOTH                       = 2
	TIOCGPTN                      = 0x80045430
	TIOCINQ                       = 0x541b
	TIOCOUTQ                      = 0x5411
	TIOCSPTLCK                    = 0x40045431
	TMPFS_MAGIC                   = 0x1021994
	UMOUNT_NOFOLLOW               = 8
	WEXITED                       = 4
	WNOWAIT                       = 0x1000000
	XFS_SUPER_MAGIC               = 0x58465342
)
