package nspawn

// Doc describes the kind.
func (*Res) Doc() string { return help }

const help = `A container of systemd-nspawn: whether it runs, whether it is started at boot, and with what settings.

    nspawn:
    - name: web
      startup: enabled
      settings: |
        [Network]
        VirtualEthernet=no
        [Files]
        BindReadOnly=/srv/www

The name is that of the machine, as machinectl has it: letters, digits and dashes, and dots between. Its image is the folder
/var/lib/machines/NAME, or the file NAME.raw there. It has to exist: whatever makes it (a ` + "`file`, a `tar`" + ` that unpacks into it, a
` + "`download`, a `mount`" + `) comes first by itself, as do the package systemd-container, additions to the unit, and folders that the settings bind.

The container is the unit systemd-nspawn@NAME.service. A container that was stopped, powered off, terminated or killed is started
again; the same goes for the start at boot. A notification restarts it.

## States

| state | the container | at boot | settings | image |
| --- | --- | --- | --- | --- |
| ` + "`running`" + ` | runs | as ` + "`startup`" + ` says | as ` + "`settings`" + ` says | has to be there |
| ` + "`stopped`" + ` | is shut down | as ` + "`startup`" + ` says | as ` + "`settings`" + ` says | is left alone |
| ` + "`absent`" + ` | is shut down | no | none | none |

An image is removed only with ` + "`force: true`" + `: without, ` + "`absent`" + ` is an error as long as there is one, and nothing is done.

## Settings

` + "`settings`" + ` is the whole text of /etc/systemd/nspawn/NAME.nspawn, with the sections [Exec], [Files] and [Network]; systemd.nspawn(5) describes them. Without it the file is left alone. They count when a container starts, so a running one is restarted when they change. A
container that runs with the right settings goes on when only the file was altered, and is put right again. If a secret is received,
only root can read the file.

A container is up when systemd-nspawn says so. With NotifyReady=yes in [Exec] that is when its own init has started all, else at once.

## What is sent

` + "`leader`" + ` is the number of its first process, for nsenter and the like; 0 if it does not run.

## What can't be done

A machine of that name that something else has started (a unit of another name, or systemd-nspawn at a terminal) is neither taken over nor
ended: that is an error which says what it belongs to. Where systemd-nspawn is not installed, or there is no systemd, that is an error,
unless nothing is wanted to run. All other resources go on.`
