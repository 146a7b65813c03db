package host

import (
	"os"
	"path/filepath"
	"strings"
)

// follow makes n, which is a symbolic link at path, lead to the node of its
// target. A loop of links leads nowhere.
func (h *hub) follow(n *node, path string, m mark) {
	target, err := os.Readlink(path)
	if err != nil { // replaced meanwhile: an event will say so
		h.unfollow(n)
		h.leave(n)
		return
	}
	at, _ := split(path)
	t := h.node(targetPath(at, target), n.inside)
	if t.reaches(n) {
		h.unfollow(n)
		h.leave(n)
		h.prune(t)
		h.loops[n] = struct{}{}
		return
	}
	h.lead(n, t)
	if t.mark&markFresh != 0 {
		t.mark |= m & inherited
	}
	h.share(n, t.dir)
}

// lead sets where n leads to.
func (h *hub) lead(n, t *node) {
	if n.to == t {
		return
	}
	if t.back == nil {
		t.back = make(map[*node]struct{})
	}
	t.back[n] = struct{}{}
	h.unfollow(n)
	n.to = t
}

// share makes n the directory of the node that it leads to.
func (h *hub) share(n *node, d *dir) {
	if n.dir == d {
		return
	}
	h.leave(n)
	if d != nil {
		h.enrol(n, d)
	}
}

// unfollow makes n no symbolic link.
func (h *hub) unfollow(n *node) {
	if t := n.to; t != nil {
		n.to = nil
		delete(t.back, n)
		h.prune(t)
		for l := range h.loops { // perhaps not any more
			h.push(l, markDirty|markLoud)
		}
	}
}

// targetPath returns where a link in the directory at leads to. The file system resolves the part
// before a "..", since it may be a link itself.
func targetPath(at, target string) string {
	if strings.HasPrefix(target, "/") {
		at = "/"
	}
	for c := range strings.SplitSeq(target, "/") {
		switch c {
		case "", ".":
		case "..":
			if real, err := filepath.EvalSymlinks(at); err == nil {
				at = real
			}
			at = filepath.Dir(at)
		default:
			at = join(at, c)
		}
	}
	return at
}
