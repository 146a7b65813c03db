package file

import (
	"cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// labelAttr is where a file has its label.
// It is an extended attribute. Tests name one of the user space, since only root may write that of
// SELinux.
func (r *Res) labelAttr() string { return cmp.Or(r.attr, atomicfile.SELinux) }

// label returns the wanted label of a node: only the path itself has one.
// Copies below a folder get the label that the policy of the system gives them.
func (c *run) label(n node) atomicfile.Label {
	if n.rel != "" {
		return atomicfile.Label{}
	}
	return atomicfile.Label{Attr: c.res.labelAttr(), Value: c.res.SELinux}
}

// reportLabel reports a difference of the label, and keeps whether there is one.
// A file system without labels answers with an empty one: the difference is reported, and setting
// the label is then the error of the run.
func (c *run) reportLabel(n node) error {
	c.relabel = false
	l := c.label(n)
	if l.Value == "" {
		return nil
	}
	has, err := n.dir.Label(n.name, l.Attr)
	if err != nil || has == l.Value {
		return err
	}
	c.relabel = true
	c.change(n, "selinux", none(has), l.Value, engine.Updated)
	return nil
}

// none makes nothing of an empty text.
// A Change shows nil as "nothing" and an empty text as a pair of quotes.
func none(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// labelNew gives a new file its label, if it is to have one.
// A plain file has it already, from before its rename; this is for folders and links.
func (c *run) labelNew(n node) error {
	l := c.label(n)
	if l.Value == "" {
		return nil
	}
	st, err := n.dir.Lstat(n.name)
	if err == nil {
		_, err = n.dir.SetLabel(n.name, st, l)
	}
	return err
}
