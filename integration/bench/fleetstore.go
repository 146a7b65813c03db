package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// fleetStore is the store of a fleet.
// Each host joins it with a connection of its own.
type fleetStore struct {
	join   func() world.World
	weight func() string // keys, bytes and memory on the side of the store
	stop   func()        // after the last host
}

// inMemoryStore is one map in this process. Its weight is that of a fresh store with the same keys.
func inMemoryStore(*bench) *fleetStore {
	w := memory.New()
	return &fleetStore{
		join: func() world.World { return w.Join() },
		weight: func() string {
			keys, size, heap := weigh(w)
			return fmt.Sprintf("%d keys of %s take %s", keys, kib(int64(size)), kib(int64(heap)))
		},
		stop: func() { must(w.Close()) },
	}
}

// inEtcd runs the etcd-server of this machine, with its data in the folder of the row. It returns nil where the machine has none.
// The weight is the memory of the server's process and its file.
func inEtcd(b *bench) *fleetStore {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		return nil
	}
	client, peer, data := freePort(), freePort(), filepath.Join(b.dir, "etcd")
	// The quota is the largest that etcd advises. The heartbeats and elections are those of a server by default.
	cmd := exec.Command(bin, "--name=m", "--data-dir="+data, "--log-level=error", "--quota-backend-bytes=8589934592",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer, "--initial-cluster=m=http://"+peer)
	must(cmd.Start())
	join := func() world.World {
		// A thousand hosts begin at once on a few processors, so a call may take long.
		w, err := etcd.Open(context.Background(), etcd.Options{Endpoints: []string{client}, Timeout: time.Minute})
		must(err)
		return w
	}
	// The folder of a row is in memory by default, so the disk of this machine does not count.
	operator := join()
	_, err = operator.List(context.Background(), "", world.ListOptions{Limit: 1}) // waits until the server answers
	must(err)
	return &fleetStore{
		join: join,
		weight: func() string {
			// The map that weigh fills is in this process, so only the server's own memory is told.
			keys, size, _ := weigh(operator)
			info, err := os.Stat(filepath.Join(data, "member", "snap", "db"))
			must(err)
			return fmt.Sprintf("%d keys of %s; the server takes %.0f MiB of memory, its file %.1f MiB", keys, kib(int64(size)), serverMemory(cmd.Process.Pid), float64(info.Size())/(1<<20))
		},
		stop: func() {
			// The data goes with the folder of the row, so the server needs no orderly end.
			_ = operator.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		},
	}
}

// freePort returns an address on loopback that nothing listens on.
// Another process could take it before the server does: then the row panics, and is run again.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	return l.Addr().String()
}

// serverMemory returns the resident memory of a process in MiB.
// The kernel writes it in units of 1,024 bytes.
func serverMemory(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			must(err)
			return float64(kb) / 1024
		}
	}
	panic("the server has gone")
}
