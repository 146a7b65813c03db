package mount

// Doc describes the kind.
func (*Res) Doc() string { return help }

const help = `A file system that is mounted at a folder, now and at the next boot.

    mount:
    - name: /srv/data
      device: UUID=0f3a8c2e-5d0b-4a40-9d39-2b6f3c1d7a11
      type: ext4
      options: [noatime, nodev]
      passno: 2
    - name: /srv/www/cache
      device: tmpfs
      type: tmpfs
      options: [size=64m, mode=0750]
    - name: /srv/old
      state: absent

It compares with the mounts of the kernel, not with the table. A foreign mount on the same path is unmounted, and a missing
mount is mounted again. Where only options differ it is remounted, without a moment in which it is not there.

## States

| state | mounted now | in the table |
| --- | --- | --- |
| ` + "`exists`" + ` | yes | yes |
| ` + "`unmounted`" + ` | no | yes |
| ` + "`listed`" + ` | as it is | yes |
| ` + "`absent`" + ` | no | no |

With ` + "`persist: false`" + ` the table is left alone. All that is in the table besides stays as it is written. The mount point has to exist. The folder comes first if the graph has it, and so does the mount above it. The same goes for the path of the device, and for the package that has the command for the type. Files below the mount point come after it. A mount that is to be absent goes before the mount and the
folder above it do. Swap areas are not mounted at a folder, and are not for this kind.

Mounts, unmounts and edits of the table by others during a repair are met at once: mgmt looks again after each step.

## Options

Flags as ` + "`ro`, `noexec` or `noatime`" + ` are as the options say, also if they say nothing: then they are off. Of the others those
count that the kernel shows, as ` + "`size=64m`" + `; options that it does not show are handed over when the line in the table changes.
Words for the mounting program, as ` + "`noauto`, `nofail` or `x-systemd.automount`" + `, are only kept in the table. An option that a file system
refuses is an error, and the present options stay. In which order they stand makes no difference, but where one undoes another one,
as
` + "`exec`" + ` after ` + "`user`" + ` does.

Options can be read by everyone, so a secret is not taken: a file system that needs one takes the name of a file.

## Where systemd runs

It makes a unit of each line in /etc/fstab. It is told when one was changed, and does the mounting, after all that the unit needs: a check
of the file system, a network, another mount. If that fails, the error has the last lines of its log. If it can't be reached, that is an error, which is
retried as ` + "`retry`" + ` says. With ` + "`x-systemd.automount`" + ` it is mounted at once, and not when it is used first. With ` + "`persist: false`" + `, another table, or no systemd, the commands mount and umount are used.

## In use

A mount in use can't be unmounted. That is an error which names the processes that use it, also by a copy in a shared tree or in another mount namespace, and the mounts below it. As soon as it is free, it is unmounted. With ` + "`lazy: true`" + ` it is taken away from the path at once; processes with open files in it keep them.`
