package file

// Doc describes the kind.
func (*Res) Doc() string { return docText }

// docText is a page in Markdown. It and the doc tags of Res become the reference of the kind and the
// answer of mgmt doc file. Tests run its examples.
const docText = `A file, a folder or a symbolic link: whether it exists, its content, owner, group and mode.

The path, which is the name if it is absent, is absolute. A path that ends in a slash is a folder.

    file:
    - name: /etc/app.conf
      content: |
        listen = 8080
      mode: "0640"
      owner: root
      group: app
    - name: /etc/app.d/
      mode: u=rwX,go=rX
    - name: /srv/www/
      source: /usr/share/www/
      recurse: true
      purge: true
    - name: /etc/localtime    # a link; its target may be received, too
      symlink: true
      source: ../usr/share/zoneinfo/UTC

## Whether it exists

With a ` + "`content`" + `, a ` + "`source`" + `, ` + "`fragments`" + ` or ` + "`state: exists`" + `, and for every folder and link, it is made when it is
missing. With only an owner, a group or a mode it has to be there already; that it is missing is an error.
` + "`state: absent`" + ` removes it. A folder that is not empty needs ` + "`recurse: true`" + ` for that.

The folder above has to exist, except that a folder with ` + "`recurse: true`" + ` makes its parents. The things that a file needs come first by themselves, where the graph manages them: the nearest folder above it, its source and fragments, its owner and group, and the
package that has the path. ` + "`depend`" + ` says what else does.

If something else is in the place, such as a folder where a file is wanted, that is an error unless ` + "`force: true`" + ` allows
it to be replaced, with everything below it.

Several resources may share one path, one for the content and one for the mode for instance. If they would undo each other, that is an
error of the graph.

## Content

` + "`content`" + ` is the whole content. ` + "`source`" + ` is a file to copy, which is watched. ` + "`fragments`" + ` are files whose contents follow one
another; a folder among them stands for its files, sorted by name. The three exclude each other, and without any of
them the content is left alone. A content that was received from a secret, or copied from a file of the graph that holds
one and comes first, or from a credential of systemd (below ` + "`/run/credentials/`" + `), is never shown, and a file that is
made for it gets mode 0600 if there is no other.

To get a secret into a file with other text, let the secret be one of the fragments. That is a file of its own that receives it, in a folder that only its owner can enter. ` + "`examples/secret.yaml`" + ` is such a graph.

` + "`keep: true`" + ` gives the content only to a file that is made. The content of an existing file stays as it is.

` + "`validate`" + ` is a command that checks a new content before the file gets its place:

    file:
    - name: /etc/sudoers.d/app
      content: |
        app ALL=(root) NOPASSWD: /usr/bin/systemctl restart app
      mode: "0440"
      validate: visudo -cf %

` + "`%`" + ` (or ` + "`%s`" + `) stands for the path of a copy of the new file; ` + "`%%`" + ` is a percent sign. Without one the path comes last. The copy has the
name of the file, and lies in a folder of its own below ` + "`TMPDIR`" + ` (` + "`/tmp`" + `): no other user can replace, alter or list it, and those who may read the
file may read the copy. The bytes that were checked are the bytes that the file gets. Paths in the content that are relative to the file lead
elsewhere in the copy: name them from the root, or give the command the folder in which to look.

mgmt runs the command as its own user in ` + "`/`" + `, without a shell, with nothing but ` + "`PATH`" + ` in its environment. The command must end with exit status 0
within two minutes, and must not change the copy. At its end mgmt kills every process that the command has started, also one in a session of its own. Otherwise the old file stays, and the error has the last lines that the command printed. Of a
file that other users must not read, the error leaves out the words of the file; of a file with a secret, all that the command printed.
` + "`validate`" + ` is not asked when nothing is to be changed, under noop, nor about a change of owner, group or mode alone.

## Folders

` + "`source`" + ` with ` + "`recurse: true`" + ` copies a whole tree: files, folders and links, with their permissions (not setuid, setgid and
sticky bits); an owner and a group apply to all of it, a mode only to the folder itself. ` + "`copy_mode: new`" + ` leaves the permissions of the originals out, and
` + "`copy_mode: \"0640\"`" + ` gives that mode to all that is copied (folders get x where it has r). Another resource of the graph for a file in it wins.
` + "`purge: true`" + ` removes everything below that does not come from source, or that is not a file of the graph. Below the folder no
link is followed, and no mounted file system is emptied.

## Undone

With the metaparameter ` + "`reverse: true`" + ` the state before the first change is kept, and comes back when the file leaves the graph. That is the content, owner, group and mode as far as they were managed, a file or link that was removed, and nothing where there was nothing. Contents of more than 8 MiB, and the content of a folder that is copied to, purged or removed, are not kept: a warning
says so before the first change. Below a folder that the graph purges nothing comes back: the file goes.

Only things that were made are removed again. A folder goes when it is empty, and of a copied tree the part that is still in ` + "`source`" + `, of a purged folder
everything. Additions by others, there or in a file whose content was not managed, are left, and the log says so. A folder in which
something is that the graph still has goes when that has left, too.

## How it is written

A file is written next to its place and renamed, so a reader sees the old content or the new one. Owner, mode, extended
attributes, access lists and security labels are right before that; values that are not given are kept from the replaced file. A
change of owner or group drops setuid, setgid and access lists, unless an octal mode gives the bits. Other hard links of that file
keep the old content. Where it can't be replaced, because something is mounted on it or its folder may not be written to, it is
written in place. Written data reaches the disk soon after the files have come to rest and at the end of the run, not with each
file.

If the path is a link, the file behind it is managed and the link stays; with ` + "`force: true` or `replace_link: true`" + ` the link is replaced. A link that another user
made, or could exchange, is an error, also in the middle of a path and for ` + "`source`" + ` and ` + "`fragments`" + `. With the ` + "`owner`" + ` of the
link, and everything behind it, named in the graph, mgmt follows the link and works as that user. The page Security has the rule.

A symbolic mode changes the present mode; for a new file it starts from 0644, for a new folder from 0755. Without a mode, a
new file or folder gets the mode that the umask leaves (0644 and 0755, mostly), for every owner; a file with a secret in it
gets 0600.
`
