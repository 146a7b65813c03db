//go:build !small

package etcd_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// cluster is three servers that talk to each other through the test, so that one of them can be cut off.
type cluster struct {
	t       *testing.T
	members []*member
	ports   []net.Listener // where the peers of a member reach it
	work    sync.WaitGroup

	mu    sync.Mutex
	ids   map[string]int // of members, as their requests write them
	cut   map[int]bool
	links map[*link]struct{}
}

// link is one connection between two members.
type link struct {
	from string // the id of a member; "" until the connection says it
	to   int
	ends [2]net.Conn
}

func (l *link) close() {
	for _, c := range l.ends {
		_ = c.Close()
	}
}

// three starts a cluster.
func three(t *testing.T, v version) *cluster {
	t.Helper()
	c := &cluster{t: t, ids: map[string]int{}, cut: map[int]bool{}, links: map[*link]struct{}{}}
	var initial []string
	for i := range 3 {
		m := prepare(t, v, fmt.Sprint("m", i), "http")
		port, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.members, c.ports = append(c.members, m), append(c.ports, port)
		initial = append(initial, fmt.Sprintf("m%d=http://%s", i, port.Addr()))
	}
	for i := range c.ports {
		c.work.Go(func() { c.serve(i) })
	}
	t.Cleanup(c.close)
	for i, m := range c.members {
		m.args = append(m.args, "--initial-cluster="+strings.Join(initial, ","), "--heartbeat-interval=100", "--election-timeout=1000",
			"--initial-advertise-peer-urls=http://"+c.ports[i].Addr().String())
		m.start()
	}
	c.members[0].await(c.options())
	cli := plain(t, clientv3.Config{Endpoints: []string{c.members[0].endpoint}})
	until(t, "all members have told their names", func() error { return c.learn(cli) })
	return c
}

// learn notes the ids of the members.
func (c *cluster) learn(cli *clientv3.Client) error {
	resp, err := cli.MemberList(c.t.Context())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range resp.Members {
		n, err := strconv.Atoi(strings.TrimPrefix(m.Name, "m"))
		if err != nil {
			return err
		}
		c.ids[strconv.FormatUint(m.ID, 16)] = n
	}
	return nil
}

// options reach all members.
func (c *cluster) options() etcd.Options {
	var o etcd.Options
	for _, m := range c.members {
		o.Endpoints = append(o.Endpoints, m.endpoint)
	}
	o.Timeout = 2 * time.Second
	return o
}

// close ends the connections. The members end by themselves.
func (c *cluster) close() {
	for _, p := range c.ports {
		_ = p.Close()
	}
	c.separate(0, 1, 2)
	c.work.Wait()
}

// serve takes the connections to one member.
func (c *cluster) serve(to int) {
	for {
		conn, err := c.ports[to].Accept()
		if err != nil {
			return
		}
		c.work.Go(func() { c.join(conn, to) })
	}
}

// join carries one connection. Its first request says which member it is from.
func (c *cluster) join(conn net.Conn, to int) {
	l := &link{to: to, ends: [2]net.Conn{conn, conn}}
	if !c.keep(l) {
		return
	}
	defer c.forget(l)
	in := bufio.NewReader(conn)
	var head strings.Builder
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return
		}
		head.WriteString(line)
		if name, value, ok := strings.Cut(line, ": "); ok && strings.EqualFold(name, "X-Server-From") {
			c.mu.Lock()
			l.from = strings.TrimSpace(value)
			c.mu.Unlock()
		}
	}
	out, err := net.Dial("tcp", c.members[to].peer)
	if err != nil {
		return
	}
	c.mu.Lock()
	l.ends[1] = out
	c.mu.Unlock()
	if !c.keep(l) {
		return
	}
	c.work.Go(func() {
		_, _ = io.Copy(conn, out)
		l.close()
	})
	if _, err := io.WriteString(out, head.String()); err == nil {
		_, _ = io.Copy(out, in)
	}
}

// keep notes a connection, or ends it where one of its members is cut off.
func (c *cluster) keep(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apart(l) {
		l.close()
		delete(c.links, l)
		return false
	}
	c.links[l] = struct{}{}
	return true
}

// apart reports whether a member of a connection is cut off. Its caller holds mu.
func (c *cluster) apart(l *link) bool {
	from, known := c.ids[l.from]
	return c.cut[l.to] || known && c.cut[from]
}

func (c *cluster) forget(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.close()
	delete(c.links, l)
}

// separate cuts members off from all others.
func (c *cluster) separate(members ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range members {
		c.cut[m] = true
	}
	for l := range c.links {
		if c.apart(l) {
			l.close()
		}
	}
}

// heal joins all members again.
func (c *cluster) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.cut)
}

// counter writes the numbers 1, 2, 3 ... to one key. After an answer that leaves it open whether a number was
// written it looks, so each is written once.
type counter struct {
	w   world.World
	n   int
	rev int64
}

// add writes the next numbers.
func (k *counter) add(t *testing.T, times int) {
	t.Helper()
	for range times {
		value := fmt.Sprint(k.n + 1)
		until(t, "a write", func() error {
			rev, ok, err := k.w.Txn(t.Context(), []world.Compare{{Key: "n", Revision: k.rev}}, []world.Op{{Key: "n", Value: []byte(value)}})
			if ok {
				k.rev = rev
				return nil
			}
			kv, get := k.w.Get(t.Context(), "n")
			if get == nil && string(kv.Value) == value {
				k.rev = kv.Revision
				return nil
			}
			return errors.Join(errors.New("it has not come through"), err, get)
		})
		k.n++
	}
}

// TestCluster: a World on a cluster of three, of which each member in turn dies, and each in turn is cut off. A reader
// sees every write once and in order, a lease lives on, and no write is lost.
func TestCluster(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		c := three(t, v)
		w := open(t, c.options())
		k := &counter{w: open(t, c.options())}
		l, err := w.Lease(t.Context(), 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = w.Txn(t.Context(), nil, []world.Op{{Key: "leased", Lease: l}})
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, w, "n", put(t, w, "first", "0"))
		k.add(t, 10)
		for i, m := range c.members {
			m.kill()
			k.add(t, 10)
			m.start()
			m.await(etcd.Options{Endpoints: []string{m.endpoint}})
			c.separate(i)
			k.add(t, 10)
			c.heal()
			m.await(etcd.Options{Endpoints: []string{m.endpoint}})
			r.wants(t, k.n)
			compact(t, m.endpoint)
			k.add(t, 10)
		}
		r.wants(t, k.n)
		if kv, err := w.Get(t.Context(), "leased"); err != nil {
			t.Error("the lease:", kv, err)
		}
	})
}

// TestCutOff: a member without the others serves nothing, and hangs nothing: neither a call nor a Watch that was
// there before. A World with more endpoints goes on at the others. It runs on the current server alone: of version 3.4, a second
// member ended now and then while the first was cut off, and then no majority is left.
func TestCutOff(t *testing.T) {
	t.Parallel()
	c := three(t, versions[0])
	lone := open(t, etcd.Options{Endpoints: []string{c.members[0].endpoint}, Timeout: 2 * time.Second})
	r := read(t, lone, "n", put(t, lone, "first", "0"))
	k := &counter{w: open(t, c.options())}
	k.add(t, 1)
	r.wants(t, 1)
	c.separate(0)
	until(t, "the Watch tells", func() error {
		if r.outages() == 0 {
			return errors.New("it is silent")
		}
		return nil
	})
	unavailable(t, lone)
	k.add(t, 5)
	c.heal()
	r.wants(t, k.n)
}

// TestServersComeAndGo: a World that was given one server learns of the others, and goes on without the first.
func TestServersComeAndGo(t *testing.T) {
	t.Parallel()
	c := three(t, versions[0])
	o := etcd.Options{Endpoints: []string{c.members[0].endpoint}, Timeout: 2 * time.Second, Refresh: 100 * time.Millisecond}
	w := open(t, o)
	r := read(t, w, "n", put(t, w, "first", "0"))
	until(t, "the others are known", func() error {
		if n := len(w.Servers()); n != 3 {
			return fmt.Errorf("%d servers", n)
		}
		return nil
	})
	c.members[0].kill()
	(&counter{w: w}).add(t, 3)
	r.wants(t, 3)
}
