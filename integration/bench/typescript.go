package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// These rows need bin/mgmt-ts next to bin/mgmt, which make typescript builds. The types are not checked in them: tsc is another
// program, and checks while the graph is made.
func typescriptRows() []row {
	const edit = "before the program is renamed over, to the new content on disk; median of five edits, without tsc"
	return []row{
		{"one of 1,000 changed in a program in TypeScript", program, edit, "250ms", func(b *bench) result { return editProgram(b, 1_000, 250*time.Millisecond) }},
		{"one of 10,000 changed in a program in TypeScript", program, edit, "750ms", func(b *bench) result { return editProgram(b, 10_000, 750*time.Millisecond) }},
	}
}

// The loop makes the program short, so the figure is about the resources and not about the size of the source.
//
// programText writes a program with files, the middle one with a text of its own. It replaces the program as an editor does, by
// a rename.
func programText(dir string, n int, text string) (path, target string) {
	source := fmt.Sprintf("import { File } from \"mgmt\";\nfor (let i = 0; i < %d; i++) {\n"+
		"  new File(`%s/files/${i}`, { content: i === %d ? %q : \"the same\" });\n}\n", n, dir, n/2, text)
	path = filepath.Join(dir, "main.ts")
	must(os.WriteFile(path+".new", []byte(source), 0o644))
	must(os.Rename(path+".new", path))
	return path, filepath.Join(dir, "files", fmt.Sprint(n/2))
}

// editProgram starts a daemon on a program, and edits the program. The clock covers the bundling, the run in a process of its own, the
// comparison of all resources and the write.
func editProgram(b *bench, n int, limit time.Duration) result {
	if _, err := os.Stat(filepath.Join(filepath.Dir(b.binary), "mgmt-ts")); err != nil {
		return result{Err: "there is no mgmt-ts next to the program: make typescript"}
	}
	must(os.MkdirAll(filepath.Join(b.dir, "files"), 0o755))
	path, target := programText(b.dir, n, "begin")
	status := filepath.Join(b.dir, "converged")
	d := &daemon{done: make(chan error, 1)}
	d.cmd = exec.Command(b.binary, "run", "--ts", path, "--check=off", "--prefix", filepath.Join(b.dir, "state"), "--converged-status-file", status)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	must(d.cmd.Start())
	go func() { d.done <- d.cmd.Wait() }()
	awaitFile(d, status, "true", time.Minute)
	// The first computation is that of the start, which is not measured.
	var took []time.Duration
	for round := range 5 {
		text := fmt.Sprintf("edit %d", round)
		begin := time.Now()
		programText(b.dir, n, text)
		awaitFile(d, target, text, time.Minute)
		took = append(took, time.Since(begin))
		time.Sleep(200 * time.Millisecond) // the events of the own write pass
	}
	d.stop()
	return under(median(took), limit)
}

// awaitFile waits until a file has a text. It gives up after a time, with the output of the program.
func awaitFile(d *daemon, path, text string, most time.Duration) {
	for begin := time.Now(); ; time.Sleep(200 * time.Microsecond) {
		if got, err := os.ReadFile(path); err == nil && strings.Contains(string(got), text) {
			return
		}
		if time.Since(begin) > most {
			panic(fmt.Sprintf("%s has not come to have %q: %s", path, text, d.out.String()))
		}
	}
}
