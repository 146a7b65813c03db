package file

import "testing"

// TestKeeper: a file that has grown beyond what is kept while it was read is not kept in part.
func TestKeeper(t *testing.T) {
	var k keeper
	chunk := make([]byte, keptMax/4)
	for i := range 6 {
		if n, err := k.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
		if want := (i + 1) * len(chunk); k.over != (want > keptMax) || !k.over && k.text.Len() != want || k.over && k.text.Len() != 0 {
			t.Errorf("after %d bytes it has %d, over %t", want, k.text.Len(), k.over)
		}
	}
}
