package exec

// Doc describes the kind. The reference page of the kind is made from it and from
// the doc tags of Res.
func (x *Res) Doc() string {
	return "Runs a command when its conditions say so.\n" + `
    resources:
      exec:
      - name: build the index
        cmd: /usr/bin/mkindex --out "/var/lib/app index"
        creates: /var/lib/app index
      - name: restart
        shell: /bin/sh
        cmd: app stop; app start
        refreshonly: true

## What is run

Without ` + "`shell`" + ` and ` + "`args`" + `, ` + "`cmd`" + ` is split into words as a shell does, quotes and backslashes included, and nothing else is
expanded: no variables, no wildcards, no pipes. A word such as ` + "`>`" + ` without quotes is an argument there, and a warning says so. With ` + "`args`" + `, ` + "`cmd`" + ` is the program alone. With ` + "`shell`" + `, that shell runs ` + "`cmd`" + `.

The things that the commands need come first by themselves, where the graph manages them: the programs, the folders that they
run in, files that are watched or that an argument names, the user and the group.

A command has a process group of its own and a clean environment: ` + "`PATH`" + `, and what ` + "`env`" + ` says. When it has to end (a
timeout, the end of the program, a change of the graph), it gets the signal ` + "`sig`" + `, and after ` + "`grace`" + ` it is killed with all
that it has started.

` + "`cmd` reads `stdin`" + ` from its standard input, and nothing without it.

Secrets belong into ` + "`env` or `stdin`" + `: everybody on the machine can read an argument list, so a graph in which a secret is received
into a part of one is refused. The output of a command that receives a secret is not shown in errors.

    recv: {stdin: "password[app].password"}

## When it is run

The conditions are ` + "`creates`, `ifcmd`, `ifequals`, `ifequals_stdout` and `nifcmd`" + `. They are asked each time the resource is looked at, all of them
have to allow the run, and nothing is run once they say that nothing is to be done. They are run under noop too, so they
should only look. ` + "`creates`" + ` has to exist after the run; if it does not, the run has failed.

` + "`mtimes`" + ` forces a run, whatever the conditions say, when the modification time of one of the files differs from the last successful run. That is remembered over restarts.

A condition that asks whether something is there does not see that an input of the command is another one, such as a password in ` + "`env`" + `. Let ` + "`nifcmd`" + ` try the
input itself: it has the same ` + "`env`" + `. Or put the input into a file, and name that in ` + "`mtimes`" + `:

    file:
    - name: /etc/app/db.password
      recv: {content: "password[app].password"}
    exec:
    - name: role app
      cmd: /usr/local/bin/set-role app --password-file /etc/app/db.password
      nifcmd: /usr/local/bin/has-role app
      mtimes: [/etc/app/db.password]

Without conditions and ` + "`mtimes`" + ` the command is run once when the resource starts (with the program, or when it was changed in
the graph), and again only when something happened: a line from ` + "`watchcmd`" + `, a change of one of the ` + "`watchfiles`" + `, another
value received for a part of the command, or a notification. Being looked at again, by polling too, runs nothing. (A command must
not write into a path that it watches: each run would ask for the next one.) For a command that has to run at intervals, notify it
from a ` + "`timer`" + `.

A notification runs the command again if the conditions allow it. With ` + "`refreshonly`" + ` nothing else does. A run that only a
notification has asked for is reported as refreshed.

` + "`donecmd`" + ` is run after a successful run, so that it can leave a mark that a condition looks for. If it fails, the whole run has
failed. A run that failed is due again.

` + "`changes: never`" + ` says that a command only reads, such as a query. Its run is no change then: it is neither logged nor counted, and it takes
place under noop and in a plan too, which so know what it sends.

    exec:
    - name: release
      cmd: /usr/bin/app --version
      changes: never
      trim: true

## What is sent

The output of the last successful run: ` + "`output`, `stdout` and `stderr`" + `, up to 1 MiB each. Where a command prints more and another resource receives from it, the exec fails; a cut text is never sent. The output is kept in a file that only the
program's user can read, so it is sent also when nothing had to run, and after a restart. An exec that has never run has
nothing to send, and under noop neither has an exec that would run. The state of its receivers is unknown until it has
run. Where its
conditions may never let it run, ` + "`send_output`, `send_stdout` and `send_stderr`" + ` are what it sends until they do. Most commands end their output with a newline, which is sent too: with ` + "`trim: true`" + ` it is not.`
}
