package boltfile

import "encoding/binary"

// strays visits the whole records of the pages to which no page leads any more, since a page above them is damaged. It leaves out
// the pages that are free: their records are of the past. Without a sound list of the free pages nothing tells the past from the
// present, and it visits nothing. The sum of a record tells its table, among all names of tables in the file.
func (c *checker) strays() error {
	if !c.past {
		return nil
	}
	err := c.strayLeaves(func(id uint64, p []byte, i int, key, value []byte) error {
		if !isTable(p, i) || len(value) < bucketHeader {
			return nil
		}
		c.tables[string(key)] = struct{}{}
		if has(c.free, id) {
			return nil
		}
		return c.bucket(key, value, 1)
	})
	if err != nil {
		return err
	}
	sums := map[string]uint32{}
	for name := range c.tables {
		sums[name] = BucketSum([]byte(name))
	}
	return c.strayLeaves(func(id uint64, p []byte, i int, key, value []byte) error {
		if isTable(p, i) || has(c.free, id) {
			return nil
		}
		for name, sum := range sums {
			if _, ok := Unsealed(sum, key, value); ok {
				return c.visit([]byte(name), key, value)
			}
		}
		return nil
	})
}

// strayLeaves gives the elements of all leaves that no walk has come to, free or not.
func (c *checker) strayLeaves(give func(id uint64, p []byte, i int, key, value []byte) error) error {
	var buf []byte
	for id := uint64(2); id < c.Pages; id++ {
		if has(c.seen, id) {
			continue
		}
		p, err := c.read(id, 1, buf)
		if err != nil || binary.NativeEndian.Uint64(p) != id || binary.NativeEndian.Uint16(p[8:])&flagLeaf == 0 {
			continue
		}
		if more := uint64(binary.NativeEndian.Uint32(p[12:])); more > 0 && more < c.Pages-id {
			if p, err = c.read(id, 1+more, p); err != nil {
				continue
			}
		}
		buf = p
		for i := range binary.NativeEndian.Uint16(p[10:]) {
			key, err := field(p, int(i), 4, 8)
			if err != nil {
				continue
			}
			value, err := after(p, int(i), key)
			if err != nil {
				continue
			}
			if err := give(id, p, int(i), key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTable reports whether element i of a leaf is a table.
func isTable(p []byte, i int) bool {
	return binary.NativeEndian.Uint32(p[PageHeader+i*element:])&flagBucket != 0
}
