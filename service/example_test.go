package service_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/service"
)

// run runs a graph until ctx ends, as a unit with Type=notify-reload and WatchdogSec= does.
func run(ctx context.Context, front gapi.Frontend, opts mgmt.Options) error {
	opts.Logger = slog.New(slog.DiscardHandler)
	if service.IsJournal(os.Stderr) {
		journal, err := service.OpenJournal(service.JournalSocket)
		if err != nil {
			return err
		}
		defer journal.Close()
		opts.Logger = slog.New(journal.Handler(slog.LevelInfo, nil))
	}
	n := service.New(opts.Logger)
	n.Configure(&opts)
	opts.Observer = n.Observe(opts.Observer)
	e, err := mgmt.Open(ctx, opts, front)
	if err != nil {
		return err
	}
	defer n.Start(ctx, e.Snapshot, nil)()
	return e.Wait()
}

// A program that embeds the engine as a service. A socket in a folder stands for systemd here: it hears that the
// service is ready, that its loop goes around, and that it stops.
func Example() {
	systemd, path, remove := listen()
	defer remove()
	for name, value := range map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000", "WATCHDOG_PID": strconv.Itoa(os.Getpid())} {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	graph := &gapi.Declared{Resources: []gapi.Declaration{static.Declare("noop", "a", &basic.NoopRes{})}}
	go func() { ended <- run(ctx, static.New(graph), mgmt.Options{}) }()
	for _, want := range []string{"READY=1", "WATCHDOG=1"} {
		hear(systemd, want)
	}
	stop()
	hear(systemd, "STOPPING=1")
	fmt.Println(<-ended)
	// Output:
	// READY=1
	// WATCHDOG=1
	// STOPPING=1
	// <nil>
}

// A log record becomes an entry of the journal. Its attributes are fields, by which journalctl finds it.
func ExampleJournal() {
	receiver, path, remove := listen()
	defer remove()
	journal, err := service.OpenJournal(path)
	if err != nil {
		log.Fatal(err)
	}
	slog.New(journal.Handler(slog.LevelInfo, nil)).Warn("the resource has failed", "resource", "file[/etc/motd]")
	journal.Close()
	fmt.Println(receive(receiver))
	// Output:
	// MESSAGE=the resource has failed
	// PRIORITY=4
	// SYSLOG_IDENTIFIER=mgmt
	// MGMT_EVENT=the resource has failed
	// MGMT_RESOURCE=file[/etc/motd]
}

// listen makes a socket in a folder of its own.
func listen() (socket *net.UnixConn, path string, remove func()) {
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "socket")
	socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		log.Fatal(err)
	}
	return socket, path, func() {
		_ = socket.Close()
		_ = os.RemoveAll(dir)
	}
}

// receive returns the next message.
func receive(socket *net.UnixConn) string {
	buf := make([]byte, 4096)
	n, err := socket.Read(buf)
	if err != nil {
		log.Fatal(err)
	}
	return string(buf[:n])
}

// hear prints a line as soon as a message has it.
func hear(socket *net.UnixConn, line string) {
	for !slices.Contains(strings.Split(receive(socket), "\n"), line) {
	}
	fmt.Println(line)
}
