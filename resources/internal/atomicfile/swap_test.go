package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A swap is something that happens to the folder in the middle of a write. It
// returns where the folder is then.
type swap func(t *testing.T, dir, outside string) (now string)

var swaps = map[string]swap{
	"renamed": func(t *testing.T, dir, _ string) string {
		must(t, os.Rename(dir, dir+".moved"))
		return dir + ".moved"
	},
	"renamed and made anew": func(t *testing.T, dir, _ string) string {
		must(t, os.Rename(dir, dir+".moved"))
		must(t, os.Mkdir(dir, 0o755))
		return dir + ".moved"
	},
	"replaced by a link": func(t *testing.T, dir, outside string) string {
		must(t, os.Rename(dir, dir+".moved"))
		must(t, os.Symlink(outside, dir))
		return dir + ".moved"
	},
}

// noTemps fails where anything below root has a temporary name.
func noTemps(t *testing.T, root string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if IsTemp(filepath.Base(p)) {
			t.Errorf("left behind is %s", strings.TrimPrefix(p, root))
		}
		return err
	}))
}

// TestReplaceStaysInItsFolder: whatever happens to the folder's path at whatever
// step, the file that was looked at is the one that is replaced, nothing is
// written elsewhere, and nothing is left behind.
func TestReplaceStaysInItsFolder(t *testing.T) {
	for name, swap := range swaps {
		for _, step := range []string{"held", "temp", "filled", "beside", "named"} {
			for way, nameFirst := range ways {
				t.Run(name+" when "+step+" "+way, func(t *testing.T) {
					root := t.TempDir()
					dir, outside := root+"/dir", root+"/outside"
					must(t, os.Mkdir(dir, 0o755))
					must(t, os.Mkdir(outside, 0o755))
					must(t, os.WriteFile(dir+"/f", []byte("old"), 0o640))
					must(t, os.WriteFile(outside+"/f", []byte("untouched"), 0o600))
					n := over(t, dir, "f", "new")
					n.nameFirst = nameFirst
					now, steps := "", 0
					n.reached = func(s string) {
						if s == step {
							now, steps = swap(t, dir, outside), steps+1
						}
					}
					res := write(t, n)
					if steps != 1 {
						t.Fatalf("the step came %d times", steps)
					}
					if got := read(t, now+"/f"); got != "new" || !res.Sure {
						t.Errorf("the file is %q, %+v", got, res)
					}
					if got := read(t, outside+"/f"); got != "untouched" || len(names(t, outside)) != 1 {
						t.Errorf("outside is %q, %v", got, names(t, outside))
					}
					noTemps(t, root)
				})
			}
		}
	}
}

// TestReplaceRefusesAnotherFile: what the path leads to after the look was not
// looked at, and is not touched.
func TestReplaceRefusesAnotherFile(t *testing.T) {
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, outside := root+"/dir", root+"/outside"
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.Mkdir(outside, 0o755))
			must(t, os.WriteFile(dir+"/f", []byte("old"), 0o640))
			must(t, os.WriteFile(outside+"/f", []byte("untouched"), 0o600))
			n := over(t, dir, "f", "new")
			f, st, err := n.Dir.Open("f")
			must(t, err)
			defer f.Close()
			n.Old, n.From = &st, f
			now := swap(t, dir, outside)
			_, err = n.Write()
			if !errors.Is(err, ErrChanged) && !errors.Is(err, unix.ENOENT) {
				t.Errorf("error is %v", err)
			}
			if read(t, now+"/f") != "old" || read(t, outside+"/f") != "untouched" {
				t.Error("something was written")
			}
			noTemps(t, root)
		})
	}
}

// beside writes by a temporary file that has a name when it is complete, also where nothing
// is replaced.
func beside(n *New) (Result, error) {
	dir, release, err := n.Dir.hold()
	if err != nil {
		return Result{}, err
	}
	defer release()
	n.Dir = dir
	return n.writeHeld()
}

func nameFirst(n *New) (Result, error) {
	n.nameFirst = true
	return n.Write()
}

// TestNewReplacesNothing: a file that has appeared at the path is not replaced
// unseen, with and without files that have no name.
func TestNewReplacesNothing(t *testing.T) {
	for name, write := range map[string]func(*New) (Result, error){
		"without a name": (*New).Write,
		"beside":         beside,
		"with a name":    nameFirst,
	} {
		for what, appear := range map[string]func(t *testing.T, dir, outside string){
			"a file": func(t *testing.T, dir, _ string) { must(t, os.WriteFile(dir+"/f", []byte("theirs"), 0o600)) },
			"a link": func(t *testing.T, dir, outside string) { must(t, os.Symlink(outside+"/f", dir+"/f")) },
		} {
			t.Run(what+" "+name, func(t *testing.T) {
				dir, outside := t.TempDir(), t.TempDir()
				must(t, os.WriteFile(outside+"/f", []byte("theirs"), 0o600))
				n := text(dir, "f", "ours")
				n.reached = func(step string) {
					if step == "filled" {
						appear(t, dir, outside)
					}
				}
				if _, err := write(n); !errors.Is(err, ErrChanged) {
					t.Errorf("error is %v", err)
				}
				if got := read(t, dir+"/f"); got != "theirs" || read(t, outside+"/f") != "theirs" {
					t.Errorf("the file is %q", got)
				}
				if got := names(t, dir); !slices.Equal(got, []string{"f"}) {
					t.Errorf("there is %v", got)
				}
			})
		}
	}
}

// TestNewWhereTheFolderMoves: a new file lands in the folder that was opened first, where
// that is now; never over another one.
func TestNewWhereTheFolderMoves(t *testing.T) {
	for name, swap := range swaps {
		for _, step := range []string{"temp", "filled"} {
			t.Run(name+" when "+step, func(t *testing.T) {
				root := t.TempDir()
				dir, outside := root+"/dir", root+"/outside"
				must(t, os.Mkdir(dir, 0o755))
				must(t, os.Mkdir(outside, 0o755))
				must(t, os.WriteFile(outside+"/f", []byte("untouched"), 0o600))
				n := text(dir, "f", "new")
				now := ""
				n.reached = func(s string) {
					if s == step {
						now = swap(t, dir, outside)
						n.reached = nil
					}
				}
				write(t, n)
				if got := read(t, now+"/f"); got != "new" {
					t.Errorf("it was said to be written: %q", got)
				}
				if got := read(t, outside+"/f"); got != "untouched" || len(names(t, outside)) != 1 {
					t.Errorf("outside is %q", got)
				}
				noTemps(t, root)
			})
		}
	}
}

// TestHoldKeepsTheFolder: links are made, and names removed, in the folder that
// was held.
func TestHoldKeepsTheFolder(t *testing.T) {
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, outside := root+"/dir", root+"/outside"
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.Mkdir(outside, 0o755))
			must(t, os.WriteFile(outside+"/f", []byte("untouched"), 0o600))
			must(t, os.WriteFile(dir+"/f", nil, 0o600))
			d, release, err := At(dir).hold()
			must(t, err)
			defer release()
			now := swap(t, dir, outside)
			must(t, d.Symlink("l", "anywhere", -1, -1))
			must(t, d.Remove("f", false))
			if got := names(t, now); !slices.Equal(got, []string{"l"}) {
				t.Errorf("there is %v", got)
			}
			if got := names(t, outside); !slices.Equal(got, []string{"f"}) {
				t.Errorf("outside is %v", got)
			}
		})
	}
}

// TestFindingK1LastMoment: what happens to the old file between the last look and the moment in which the new one takes its place is
// seen: programs that remove a file before they make it anew meet no other one in its place.
func TestFindingK1LastMoment(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, file string){
		"removed":              func(t *testing.T, file string) { must(t, os.Remove(file)) },
		"replaced by a folder": func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(dir+"/f", []byte("old"), 0o640))
			n := over(t, dir, "f", "new")
			var want, had []string
			n.reached = func(s string) {
				if s == "complete" {
					do(t, dir+"/f")
					want = describe(t, dir)
				}
			}
			if _, err := n.Write(); !errors.Is(err, ErrChanged) {
				t.Errorf("error %v, want that it has changed", err)
			}
			if had = describe(t, dir); !slices.Equal(had, want) {
				t.Errorf("there is %v, want %v", had, want)
			}
			noTemps(t, dir)
		})
	}
}

// describe lists what a folder has besides temporary files, with types and sizes.
func describe(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, name := range names(t, dir) {
		if st, err := os.Lstat(dir + "/" + name); err == nil && !IsTemp(name) {
			list = append(list, name+" "+st.Mode().String()+" "+st.ModTime().String())
		}
	}
	return list
}
