package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// A stored value begins with a sum over its bucket, its key and itself: bbolt
// notices pages in the wrong place, not bytes that have changed.

const sealSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bucketSum begins the sum of a bucket's records.
func bucketSum(bucket []byte) uint32 { return crc32.Checksum(bucket, castagnoli) }

func recordSum(seed uint32, key, value []byte) uint32 {
	return crc32.Update(crc32.Update(seed, castagnoli, key), castagnoli, value)
}

// seal appends what is stored for a value.
func seal(to, bucket, key, value []byte) []byte {
	return sealed(to, bucketSum(bucket), key, value)
}

func sealed(to []byte, seed uint32, key, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(to, recordSum(seed, key, value)), value...)
}

// unseal returns the value of a stored record, as a part of it, and whether it is
// as it was put.
func unseal(bucket, key, stored []byte) ([]byte, bool) {
	return unsealed(bucketSum(bucket), key, stored)
}

func unsealed(seed uint32, key, stored []byte) ([]byte, bool) {
	if len(stored) < sealSize {
		return nil, false
	}
	value := stored[sealSize:]
	return value, binary.LittleEndian.Uint32(stored) == recordSum(seed, key, value)
}
