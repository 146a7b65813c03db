package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Forward returns the address of a port on this machine's loopback whose clients reach a port on the loopback of the machine. While
// the machine is down, a client is let in and its connection ends at once. Forward ends with the test.
func (h *Host) Forward(port int) (address string) {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			clients.Go(func() { h.connect(ctx, client, port) })
		}
	})
	h.t.Cleanup(func() {
		_ = l.Close()
		cancel()
		clients.Wait()
	})
	return l.Addr().String()
}

// connect connects a client with a port of the machine until one of the two ends.
func (m *machine) connect(ctx context.Context, client net.Conn, port int) {
	defer func() { _ = client.Close() }()
	server, err := m.dial(port)
	if err != nil {
		return // the client sees the end
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	var copies sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		copies.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = client.Close()
			_ = server.Close()
		})
	}
	copies.Wait()
}

// dial opens a connection in the network of the machine. A socket stays in the network of the thread that has made it.
func (m *machine) dial(port int) (conn net.Conn, err error) {
	init := m.findInit()
	if init == 0 {
		return nil, errors.New("the machine is down")
	}
	there, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", init))
	if err != nil {
		return nil, err
	}
	defer func() { _ = there.Close() }()
	here, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	defer func() { _ = here.Close() }()
	dialed := make(chan struct{})
	go func() {
		defer close(dialed)
		runtime.LockOSThread()
		if err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err == nil {
			conn, err = net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		}
		// The end of a thread would kill the processes with a Pdeathsig that it has started.
		if unix.Setns(int(here.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-dialed
	return conn, err
}
