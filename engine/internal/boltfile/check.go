package boltfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"os"
)

// CheckLimit is how much of a file is read before it is opened. A file of the
// default size of the history is read whole; that takes some 50 ms.
const CheckLimit = 96 << 20

// The layout of a bbolt file, as far as it is looked at here.
const (
	boltMagic    = 0xED0CDAED
	boltVersion  = 2
	boltNoFree   = ^uint64(0)
	metaSize     = 64
	PageHeader   = 16 // id 8, flags 2, count 2, overflow 4
	element      = 16 // branch: pos 4, key size 4, page 8. leaf: flags 4, pos 4, key size 4, value size 4
	bucketHeader = 16 // root 8, sequence 8; with root 0 a page follows
	flagBranch   = 1
	flagLeaf     = 2
	flagFree     = 16
	flagBucket   = 1 // of an element
	maxDepth     = 32
)

// Usage is how much of a file is in use, in bytes.
type Usage struct {
	Size, Used int64
	Complete   bool // false where the check ended at its bound
}

// Meta is what a file begins with.
type Meta struct {
	Size              int64 // bytes of a page
	Root, Free, Pages uint64
	TxID              uint64 // of the transaction that wrote it
}

// errEnough ends a check that has come to its bound.
var errEnough = errors.New("enough")

// Check looks at a file with plain reads, where nothing can fault or panic: that
// its pages form the trees that they should, each used once or free, and what
// visit says of the records. It reads at most limit bytes and some, and ends at the first damage.
func Check(f *os.File, limit int64, visit func(bucket, key, value []byte) error) (Usage, error) {
	m, err := ReadMeta(f)
	if err != nil {
		return Usage{}, err
	}
	return walk(f, m, &checker{left: limit, visit: visit, found: func(d error) error { return d }})
}

// Walk is Check of a damaged file: it goes on behind each damage with all that can still be read. It calls found for each
// damage; the walk ends if found returns an error. visit also gets bytes that never were a record. If a damaged page led
// to others, Walk looks for those: see strays.
func Walk(f *os.File, visit func(bucket, key, value []byte) error, found func(error) error) (Usage, error) {
	m, err := mendedMeta(f)
	if err != nil {
		return Usage{}, err
	}
	c := &checker{left: math.MaxInt64, visit: visit, found: found, tables: map[string]struct{}{}}
	u, err := walk(f, m, c)
	if err == nil {
		err = c.strays()
	}
	return u, err
}

func walk(f *os.File, m Meta, c *checker) (Usage, error) {
	info, err := f.Stat()
	if err != nil {
		return Usage{}, Classify(err)
	}
	u := Usage{Size: info.Size()}
	c.r, c.Meta, c.most = f, m, m.Pages
	if m.Pages > uint64(info.Size()/m.Size) {
		if err := c.bad("it has %d bytes and should have at least %d pages of %d", info.Size(), m.Pages, m.Size); err != nil {
			return u, err
		}
		c.Pages = max(uint64(info.Size()/m.Size), 3)
	}
	c.seen, c.free = make([]uint64, c.most/64+1), make([]uint64, c.most/64+1)
	err = c.all()
	u.Used, u.Complete = c.used*m.Size, err == nil
	if errors.Is(err, errEnough) {
		err = nil
	}
	return u, err
}

// ReadMeta returns the newer of the two first pages that is valid.
func ReadMeta(f io.ReaderAt) (Meta, error) {
	var best Meta
	found := false
	for _, at := range metaPlaces(f) {
		m, ok := metaAt(f, at)
		if ok && (!found || m.TxID > best.TxID) {
			best, found = m, true
		}
	}
	if !found {
		return Meta{}, Damaged("its first pages are not those of a file of bbolt")
	}
	return best, nil
}

// CheckMetas is the damage of the two first pages, nil where both are whole. bbolt does with one of them, which may be
// that of the change before the last one.
func CheckMetas(f io.ReaderAt) error {
	for i, at := range metaPlaces(f) {
		if _, ok := metaAt(f, at); !ok {
			return Damaged("page %d, one of the two first, is not one of bbolt: what was written last may be lost", i)
		}
	}
	return nil
}

// mendedMeta is ReadMeta that also takes a page in which one bit is wrong.
func mendedMeta(f io.ReaderAt) (Meta, error) {
	best, err := ReadMeta(f)
	for _, at := range []int64{0, cmp.Or(best.Size, pageSize)} {
		var b [PageHeader + metaSize]byte
		if _, ok := metaAt(f, at); ok {
			continue
		}
		if _, no := f.ReadAt(b[:], at); no != nil {
			continue
		}
		if m, ok := mend(b[PageHeader:]); ok && (err != nil || m.TxID > best.TxID) {
			best, err = m, nil
		}
	}
	return best, err
}

// mend tries each bit: the sum of a page tells which one is wrong.
func mend(b []byte) (Meta, bool) {
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if m, ok := parseMeta(b); ok {
			return m, true
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	return Meta{}, false
}

// metaPlaces returns where the two are: at the beginning, and one page after it.
func metaPlaces(f io.ReaderAt) []int64 {
	if m, ok := metaAt(f, 0); ok {
		return []int64{0, m.Size}
	}
	return []int64{0, pageSize}
}

func metaAt(f io.ReaderAt, at int64) (Meta, bool) {
	var b [PageHeader + metaSize]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return Meta{}, false
	}
	return parseMeta(b[PageHeader:])
}

func parseMeta(b []byte) (Meta, bool) {
	n := binary.NativeEndian
	h := fnv.New64a()
	_, _ = h.Write(b[:56])
	m := Meta{
		Size: int64(n.Uint32(b[8:])), Root: n.Uint64(b[16:]), Free: n.Uint64(b[32:]), Pages: n.Uint64(b[40:]),
		TxID: n.Uint64(b[48:]),
	}
	ok := n.Uint32(b) == boltMagic && n.Uint32(b[4:]) == boltVersion && n.Uint64(b[56:]) == h.Sum64() &&
		m.Size >= 1024 && m.Size <= 1<<24 && m.Size&(m.Size-1) == 0 && m.Pages >= 3
	return m, ok
}

// checker walks a file.
type checker struct {
	Meta
	r     io.ReaderAt
	left  int64    // bytes that may still be read
	used  int64    // pages
	seen  []uint64 // a bit for each page that was read
	free  []uint64 // a bit for each page that is free
	most  uint64   // pages that the file should have
	past  bool     // free has all pages that are free, and no others
	bufs  [maxDepth][]byte
	visit func(bucket, key, value []byte) error
	found func(error) error // told of each damage; its error ends the walk

	tables map[string]struct{} // the names of all that were seen; nil if they are not wanted
}

// bad tells of a damage.
func (c *checker) bad(format string, args ...any) error { return c.found(Damaged(format, args...)) }

func (c *checker) all() error {
	c.used = 2
	if c.Free != boltNoFree {
		if err := c.freePages(); err != nil {
			return err
		}
	}
	return c.tree(c.Root, 0, bounds{}, nil)
}

// bounds are the limits of the keys of a page; nil means unbounded.
type bounds struct{ from, below []byte }

// tree checks a page and its subtree. The root's tree has no bucket.
func (c *checker) tree(id uint64, depth int, in bounds, bucket []byte) error {
	if depth == maxDepth {
		return c.bad("page %d is too deep", id)
	}
	p, flags, err := c.page(id, depth)
	switch {
	case IsDamage(err):
		return c.found(err)
	case err != nil:
		return err
	case flags == flagBranch:
		return c.branch(p, depth, in, bucket)
	case flags != flagLeaf:
		if err := c.bad("page %d has flags %#x", id, flags); err != nil {
			return err
		}
	}
	return c.leaf(p, depth, in, bucket) // the sums of its records tell whether it is one
}

// page reads a page with its overflow pages into the buffer of a depth.
func (c *checker) page(id uint64, depth int) (p []byte, flags uint16, err error) {
	if c.left <= 0 {
		return nil, 0, errEnough
	}
	buf, err := c.read(id, 1, c.bufs[depth])
	if err != nil {
		return nil, 0, err
	}
	if got := binary.NativeEndian.Uint64(buf); got != id {
		if err := c.bad("page %d says that it is page %d", id, got); err != nil {
			return nil, 0, err
		}
	}
	count := 1 + uint64(binary.NativeEndian.Uint32(buf[12:]))
	if id+count > c.Pages {
		if err := c.bad("page %d with %d is beyond the %d of the file", id, count, c.Pages); err != nil {
			return nil, 0, err
		}
		count = 1
	}
	if count > 1 {
		if buf, err = c.read(id, count, buf); err != nil {
			return nil, 0, err
		}
	}
	c.bufs[depth] = buf
	for i := range count {
		if has(c.free, id+i) {
			if err := c.bad("page %d is used, and listed as free", id+i); err != nil {
				return nil, 0, err
			}
			c.past = false
		}
		if !mark(c.seen, id+i) {
			return nil, 0, Damaged("page %d is used twice", id+i)
		}
	}
	c.used += int64(count)
	c.left -= int64(len(buf))
	return buf, binary.NativeEndian.Uint16(buf[8:]), nil
}

func (c *checker) read(id, count uint64, buf []byte) ([]byte, error) {
	if id < 2 || id >= c.Pages || count > c.Pages-id {
		return nil, Damaged("page %d with %d is beyond the %d of the file", id, count, c.Pages)
	}
	n := int(count) * int(c.Size)
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := c.r.ReadAt(buf, int64(id)*c.Size); err != nil {
		return nil, Damaged("page %d: %v", id, err)
	}
	return buf, nil
}

// has reports whether a page has its bit.
func has(bits []uint64, id uint64) bool { return bits[id/64]&(1<<(id%64)) != 0 }

// mark gives a page its bit, and reports whether it had none.
func mark(bits []uint64, id uint64) bool {
	was := has(bits, id)
	bits[id/64] |= 1 << (id % 64)
	return !was
}

// freePages marks the pages that are free.
func (c *checker) freePages() error {
	p, flags, err := c.page(c.Free, 0)
	switch {
	case IsDamage(err):
		return c.found(err)
	case err != nil:
		return err
	case flags != flagFree:
		return c.bad("page %d has flags %#x and should list what is free", c.Free, flags)
	}
	ids, n := p[PageHeader:], uint64(binary.NativeEndian.Uint16(p[10:]))
	if n == 0xFFFF {
		n, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return c.bad("page %d lists %d free pages", c.Free, n)
	}
	c.past = true
	for i := range n {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id < 2 || id >= c.most || has(c.seen, id) || !mark(c.free, id) {
			c.past = false
			if err := c.bad("page %d is free and cannot be", id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) branch(p []byte, depth int, in bounds, bucket []byte) error {
	n, err := c.count(p)
	if err != nil {
		return err
	}
	if n == 0 {
		return c.bad("a branch has no leaves")
	}
	for i := range n {
		here, err := childBounds(p, i, n, in)
		if err == nil && (!in.has(here.from) || here.below != nil && bytes.Compare(here.from, here.below) >= 0) {
			err = Damaged("the keys of a branch are out of order")
		}
		if err != nil {
			here = bounds{}
			if err := c.found(err); err != nil {
				return err
			}
		}
		e := PageHeader + i*element
		if e+element > len(p) {
			return nil
		}
		if err := c.tree(binary.NativeEndian.Uint64(p[e+8:]), depth+1, here, bucket); err != nil {
			return err
		}
	}
	return nil
}

// childBounds are what the keys below element i of n of a branch lie between.
func childBounds(p []byte, i, n int, in bounds) (bounds, error) {
	from, err := field(p, i, 0, 4)
	if err != nil || i+1 == n {
		return bounds{from, in.below}, err
	}
	below, err := field(p, i+1, 0, 4)
	return bounds{from, below}, err
}

func (b bounds) has(key []byte) bool {
	return bytes.Compare(key, b.from) >= 0 && (b.below == nil || bytes.Compare(key, b.below) < 0)
}

// leaf checks the elements of a page, which may be one within a record.
func (c *checker) leaf(p []byte, depth int, in bounds, bucket []byte) error {
	n, err := c.count(p)
	if err != nil {
		return err
	}
	var last []byte
	for i := range n {
		key, err := field(p, i, 4, 8)
		var value []byte
		if err == nil {
			value, err = after(p, i, key)
		}
		if err != nil {
			if err := c.found(err); err != nil {
				return err
			}
			continue
		}
		if len(key) == 0 || !in.has(key) || last != nil && bytes.Compare(last, key) >= 0 {
			if err := c.bad("the keys of a leaf are out of order"); err != nil {
				return err
			}
		}
		last = key
		if err := c.record(p, i, depth, bucket, key, value); err != nil {
			return err
		}
	}
	return nil
}

// record checks element i of a leaf: a table in the tree of the tables, else a record.
func (c *checker) record(p []byte, i, depth int, bucket, key, value []byte) error {
	isBucket := binary.NativeEndian.Uint32(p[PageHeader+i*element:])&flagBucket != 0
	if isBucket != (bucket == nil) {
		if err := c.bad("the record %q is not where it should be", key); err != nil {
			return err
		}
	}
	if bucket == nil {
		return c.bucket(key, value, depth)
	}
	return c.visit(bucket, key, value)
}

// bucket checks a table, which is a tree of its own or a page within its record.
func (c *checker) bucket(name, value []byte, depth int) error {
	if c.tables != nil {
		c.tables[string(name)] = struct{}{}
	}
	if len(value) < bucketHeader {
		return c.bad("the table %q is cut", name)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return c.tree(root, depth+1, bounds{}, name)
	}
	p := value[bucketHeader:]
	if len(p) < PageHeader {
		return c.bad("the table %q is cut", name)
	}
	if binary.NativeEndian.Uint16(p[8:]) != flagLeaf {
		if err := c.bad("the table %q is cut", name); err != nil {
			return err
		}
	}
	return c.leaf(p, depth, bounds{}, name)
}

// count returns how many elements a page has. The first one says it, too: its key begins behind the last element.
func (c *checker) count(p []byte) (int, error) {
	n := int(binary.NativeEndian.Uint16(p[10:]))
	if len(p) < PageHeader+element {
		return 0, nil
	}
	at := 4 // a leaf's place of the key
	if binary.NativeEndian.Uint16(p[8:]) == flagBranch {
		at = 0
	}
	first := int(binary.NativeEndian.Uint32(p[PageHeader+at:]))
	if n > 0 && first == n*element || n == 0 && !c.begins(p, first) {
		return n, nil
	}
	if err := c.bad("a page counts %d elements and has room for %d", n, first/element); err != nil {
		return 0, err
	}
	if c.begins(p, first) {
		n = max(n, first/element)
	}
	return min(n, (len(p)-PageHeader)/element), nil
}

// begins reports whether the keys of a page may begin there.
func (c *checker) begins(p []byte, first int) bool {
	return first > 0 && first%element == 0 && PageHeader+first <= len(p)
}

// field returns the key of element i, whose place and size stand at these offsets
// of the element.
func field(p []byte, i, posAt, sizeAt int) ([]byte, error) {
	e := PageHeader + i*element
	if e+element > len(p) {
		return nil, Damaged("a page holds more than fits in it")
	}
	pos := uint64(e) + uint64(binary.NativeEndian.Uint32(p[e+posAt:]))
	size := uint64(binary.NativeEndian.Uint32(p[e+sizeAt:]))
	if pos+size > uint64(len(p)) {
		return nil, Damaged("a key lies outside of its page")
	}
	return p[pos : pos+size : pos+size], nil
}

// after returns the value of leaf element i, which follows its key.
func after(p []byte, i int, key []byte) ([]byte, error) {
	e := PageHeader + i*element
	pos := uint64(e) + uint64(binary.NativeEndian.Uint32(p[e+4:])) + uint64(len(key))
	size := uint64(binary.NativeEndian.Uint32(p[e+12:]))
	if pos+size > uint64(len(p)) {
		return nil, Damaged("a value lies outside of its page")
	}
	return p[pos : pos+size : pos+size], nil
}
