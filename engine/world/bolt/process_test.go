package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// childEnv gives the test program, as the process that is killed, the file.
const childEnv = "MGMT_WORLD_BOLT_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := childWrites(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childWrites counts up pairs of keys, each pair in one Txn, and prints what was acknowledged.
func childWrites(path string) error {
	w, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		return err
	}
	lease, err := w.Lease(context.Background(), 1<<40)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 1; ; n++ {
				value := []byte(strconv.Itoa(n))
				_, ok, err := w.Txn(context.Background(), nil, []world.Op{
					{Key: fmt.Sprint("left", i), Value: value}, {Key: fmt.Sprint("right", i), Value: value},
					{Key: fmt.Sprint("leased", i), Value: value, Lease: lease},
				})
				if err != nil || !ok {
					fmt.Fprintln(os.Stderr, ok, err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(i, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKilled: after kill -9 every acknowledged change is there, each Txn whole, and no leased key.
func TestKilled(t *testing.T) {
	path := file(t)
	rounds := 200
	if testing.Short() {
		rounds = 12
	}
	for round := range rounds {
		acknowledged := killed(t, path, 5+7*round%90)
		w := open(t, path, bolt.Options{})
		for i := range 4 {
			left, right := number(t, w, fmt.Sprint("left", i)), number(t, w, fmt.Sprint("right", i))
			if left != right || left < acknowledged[i] {
				t.Errorf("round %d, writer %d: %d and %d, acknowledged %d", round, i, left, right, acknowledged[i])
			}
			if n := number(t, w, fmt.Sprint("leased", i)); n != 0 {
				t.Errorf("round %d, writer %d: a leased key of a dead process is there", round, i)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs a child until so many changes are acknowledged, kills it, and returns what it
// acknowledged.
func killed(t *testing.T, path string, lines int) (last [4]int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			break
		}
		var i, done int
		if _, err := fmt.Sscan(strings.TrimSpace(line), &i, &done); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		last[i] = done
		if n == lines {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait()
	return last
}

// number is 0 where there is no key.
func number(t *testing.T, w world.World, key string) int {
	t.Helper()
	kv, err := w.Get(t.Context(), key)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(string(kv.Value))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
