package boltfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

const pageSize = 4096

// sealed makes a file with a table of many pages, a table within the page of the tables, and an
// empty one. It returns the file's path and its records, by table and key.
func sealed(t *testing.T) (string, map[string]string) {
	t.Helper()
	want := map[string]string{}
	p := boltfile.Place{Path: t.TempDir() + "/file", MaxSize: maxSize}
	err := p.Create(func(f *boltfile.File) error {
		return f.Update(func(tx *bbolt.Tx) (bool, error) {
			for table, n := range map[string]int{"large": 120, "small": 5, "empty": 0} {
				b, err := tx.CreateBucketIfNotExists([]byte(table))
				for i := 0; i < n && err == nil; i++ {
					key, value := fmt.Sprintf("key %05d", i), strings.Repeat(fmt.Sprint(i, table), 10)
					want[table+"/"+key] = value
					err = b.Put([]byte(key), boltfile.Seal(nil, []byte(table), []byte(key), []byte(value)))
				}
				if err != nil {
					return false, err
				}
			}
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.Path, want
}

// damage alters the text of a file, and says how.
type damage func(text []byte) string

// flips are damages of each bit in the head of each page and in that of its first element, where
// one bit can hide a record. The first two pages are left out: each is a copy of the other's past.
func flips(pages int) (all []damage) {
	for at := 2 * pageSize; at < pages*pageSize; at += pageSize {
		for bit := range 8 * 32 {
			all = append(all, func(text []byte) string {
				text[at+bit/8] ^= 1 << (bit % 8)
				return fmt.Sprintf("bit %d at %d of page %d", bit%8, bit/8, at/pageSize)
			})
		}
	}
	return all
}

// blows are n larger damages by chance.
func blows(pages, n int) (all []damage) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		page, other := (2+r.IntN(pages-2))*pageSize, (2+r.IntN(pages-2))*pageSize
		at, fill := page+r.IntN(pageSize-8), byte(r.IntN(2)*0xFF)
		switch r.IntN(3) {
		case 0:
			all = append(all, func(text []byte) string {
				copy(text[page:page+pageSize], text[other:other+pageSize])
				return fmt.Sprintf("page %d is a copy of page %d", page/pageSize, other/pageSize)
			})
		case 1:
			all = append(all, func(text []byte) string {
				clear(text[page : page+pageSize])
				return fmt.Sprintf("page %d is zero", page/pageSize)
			})
		default:
			all = append(all, func(text []byte) string {
				copy(text[at:], bytes.Repeat([]byte{fill}, 8))
				return fmt.Sprintf("8 bytes at %d of page %d are %#x", at%pageSize, at/pageSize, fill)
			})
		}
	}
	return all
}

// TestNoDamagePasses: whatever is damaged, Check ends, and where it finds all well and each
// record has its seal, it has told of each record once and of no other. Walk goes on behind
// damages, and a record of it with a right seal is a record that was written.
func TestNoDamagePasses(t *testing.T) {
	path, want := sealed(t)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := checked(f); err != nil || !maps.Equal(got, want) {
		t.Fatalf("without a damage: %d records of %d, %v", len(got), len(want), err)
	}
	pages := 2
	for at := 2 * pageSize; at < len(sound) && binary.NativeEndian.Uint64(sound[at:]) == uint64(at/pageSize); at += pageSize {
		pages++ // a page in use begins with its number; the file has more for later
	}
	sound = sound[:pages*pageSize]
	found, all := 0, slices.Concat(flips(pages), blows(pages, 200))
	for _, d := range all {
		text := bytes.Clone(sound)
		did := d(text)
		if _, err := f.WriteAt(text, 0); err != nil {
			t.Fatal(err)
		}
		got, err := checked(f)
		switch {
		case err == nil && !maps.Equal(got, want):
			t.Errorf("%s: nothing is found, and %d records of %d are told", did, len(got), len(want))
		case err != nil && !boltfile.IsDamage(err):
			t.Errorf("%s: %v, which is no damage", did, err)
		case err != nil:
			found++
		}
		for key, value := range salvaged(t, f) {
			if want[key] != value {
				t.Errorf("%s: salvaged is %s=%q, written was %q", did, key, value, want[key])
			}
		}
	}
	if found < len(all)/2 {
		t.Errorf("only %d of %d damages were found: they hit nothing", found, len(all))
	}
}

// checked returns the records that Check tells of. A record without its seal, or told twice, is a
// damage, as its callers take it.
func checked(f *os.File) (map[string]string, error) {
	got := map[string]string{}
	_, err := boltfile.Check(f, boltfile.CheckLimit, func(bucket, key, stored []byte) error {
		value, ok := boltfile.Unseal(bucket, key, stored)
		name := string(bucket) + "/" + string(key)
		if _, twice := got[name]; !ok || twice {
			return boltfile.Damaged("the record %q has no seal, or stands twice", name)
		}
		got[name] = string(value)
		return nil
	})
	return got, err
}

// salvaged returns the records with a right seal that Walk still finds.
func salvaged(t *testing.T, f *os.File) map[string]string {
	t.Helper()
	got := map[string]string{}
	_, err := boltfile.Walk(f, func(bucket, key, stored []byte) error {
		if value, ok := boltfile.Unseal(bucket, key, stored); ok {
			got[string(bucket)+"/"+string(key)] = string(value)
		}
		return nil
	}, func(error) error { return nil })
	if err != nil && !boltfile.IsDamage(err) {
		t.Errorf("Walk: %v", err)
	}
	return got
}
