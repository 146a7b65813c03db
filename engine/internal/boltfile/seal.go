package boltfile

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// A stored value begins with a sum over its bucket, its key and itself: bbolt
// notices pages in the wrong place, not bytes that have changed.

// SealSize is how many bytes a sum takes before its value.
const SealSize = 4

// castagnoli is made at its first use: the table costs each start of the program 0.1 ms.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// BucketSum begins the sum of a bucket's records.
func BucketSum(bucket []byte) uint32 { return crc32.Checksum(bucket, castagnoli()) }

func recordSum(seed uint32, key, value []byte) uint32 {
	return crc32.Update(crc32.Update(seed, castagnoli(), key), castagnoli(), value)
}

// Seal appends what is stored for a value.
func Seal(to, bucket, key, value []byte) []byte {
	return Sealed(to, BucketSum(bucket), key, value)
}

// Sealed is Seal for many records of one bucket, whose BucketSum is given.
func Sealed(to []byte, seed uint32, key, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(to, recordSum(seed, key, value)), value...)
}

// Unseal returns the value of a stored record, as a part of it, and whether it is
// as it was put.
func Unseal(bucket, key, stored []byte) ([]byte, bool) {
	return Unsealed(BucketSum(bucket), key, stored)
}

// Unsealed is Unseal for many records of one bucket, whose BucketSum is given.
func Unsealed(seed uint32, key, stored []byte) ([]byte, bool) {
	if len(stored) < SealSize {
		return nil, false
	}
	value := stored[SealSize:]
	return value, binary.LittleEndian.Uint32(stored) == recordSum(seed, key, value)
}
