package host

import "strings"

// A node is one element of the way to a watched path: a directory that is looked
// into, or a symbolic link that is followed. Nodes form a tree by name; where
// they really are (dir, to) changes as the file system does. The hub's goroutine
// owns them.
type node struct {
	parent *node // nil for "/"
	name   string
	kids   map[string]*node

	dir  *dir               // the directory that this is now; nil for none
	to   *node              // this is a symbolic link to there
	back map[*node]struct{} // the symbolic links that lead here

	names map[string]*entry // the subscriptions that ask for a name in here; "" for the node itself, "/" only
	any   *entry            // subscriptions to every name in here
	deep  *entry            // subscriptions to everything below

	todo   []string // names to inspect
	sifted bool     // todo has only names that a listing has shown to be links, folders or special files
	mark   mark
	inside bool // a subscription asks for the things in here
	leaf   bool // kept because the name is asked for and is a symbolic link
	auto   bool // kept because everything below an ancestor is asked for
	dead   bool
}

// A mark is what is to be done about a node.
type mark uint8

const (
	markQueued mark = 1 << iota // it is in the queue
	markFresh                   // it was never looked at
	markDirty                   // look again
	markStale                   // and take nothing as before: its name was altered
	markLoud                    // tell the subscriptions what came of it
	markLost                    // and that events were lost
	markList                    // list what is in it
)

// inherited are the marks that a node hands on to its children.
const inherited = markLoud | markLost

// path returns the path as it was asked for.
func (n *node) path() string {
	if n.parent == nil {
		return "/"
	}
	return join(n.parent.path(), n.name)
}

// real returns the path of the node with no symbolic link before its last
// element, or "" while its parent is not there.
func (n *node) real() string {
	switch {
	case n.parent == nil:
		return "/"
	case n.parent.dir == nil:
		return ""
	}
	return join(n.parent.dir.path, n.name)
}

// recursive reports whether everything in and below the node's directory is asked for. Symbolic
// links are not followed down.
func (n *node) recursive() bool {
	for p := n; p != nil; p = p.parent {
		if p.deep != nil {
			return true
		}
		if p.to != nil {
			return false
		}
	}
	return false
}

// used reports whether anything needs the node.
func (n *node) used() bool {
	return len(n.names) > 0 || len(n.kids) > 0 || len(n.back) > 0 ||
		n.any != nil || n.deep != nil || n.leaf || n.auto
}

// reaches reports whether the way to n leads through x.
func (n *node) reaches(x *node) bool {
	for p := n; p != nil; p = p.parent {
		if p == x || p.to != nil && p.to.reaches(x) {
			return true
		}
	}
	return false
}

// kid returns the node of a name below n, which it makes if need be.
func (n *node) kid(name string) (k *node, made bool) {
	if k = n.kids[name]; k != nil {
		return k, false
	}
	k = &node{parent: n, name: name, mark: markFresh}
	if n.kids == nil {
		n.kids = make(map[string]*node)
	}
	n.kids[name] = k
	return k, true
}

// An entry is one subscription's interest in a name, in the names of a
// directory, or in a tree. It hangs in one of its node's lists.
type entry struct {
	node       *node
	name       string
	scope      scope
	sub        *sub
	prev, next *entry
}

type scope uint8

const (
	scopeName  scope = iota // node.names[name]
	scopeNames              // node.any
	scopeTree               // node.deep
)

// hang puts the entry into its node's list.
func (e *entry) hang() {
	n := e.node
	head := n.head(e)
	if e.next = head; head != nil {
		head.prev = e
	}
	n.setHead(e, e)
}

// unhang takes the entry out of its node's list.
func (e *entry) unhang() {
	if e.next != nil {
		e.next.prev = e.prev
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		e.node.setHead(e, e.next)
	}
	e.prev, e.next = nil, nil
}

func (n *node) head(e *entry) *entry {
	switch e.scope {
	case scopeNames:
		return n.any
	case scopeTree:
		return n.deep
	}
	return n.names[e.name]
}

func (n *node) setHead(e, head *entry) {
	switch {
	case e.scope == scopeNames:
		n.any = head
	case e.scope == scopeTree:
		n.deep = head
	case head == nil:
		delete(n.names, e.name)
	default:
		if n.names == nil {
			n.names = make(map[string]*entry)
		}
		n.names[e.name] = head
	}
}

// join puts a name below a clean directory path.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// base returns the name in a path.
func base(path string) string {
	_, name := split(path)
	return name
}

// split takes the path of an event apart. The watcher joins with a slash
// whatever the directory is, so a name in "/" comes as "//name".
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}
