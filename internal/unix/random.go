package unix

// letters are those of base32. There are 32 of them, so five bits of a byte choose one evenly.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// RandomText returns 26 random letters and digits, which hold 130 bits. They may stand in a file name.
func RandomText() string {
	b := make([]byte, 26)
	RandomRead(b)
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b)
}

// RandomRead fills b with random bytes of the kernel, for keys, salts and names that no other user is to
// guess. It is a small part of crypto/rand, which takes 8 KB more of a program: a program with the kind
// file alone stays below its 7 MB. Keys that leave the process are made by crypto/rand.
//
// No state is kept in the process, so a fork or a snapshot repeats nothing. Calls may come from many
// goroutines. RandomRead waits only early after the boot of a machine, until the kernel has collected enough. It
// never fails: a kernel without getrandom(2) ends the program by a panic.
func RandomRead(b []byte) {
	for len(b) > 0 {
		n, err := Getrandom(b, 0)
		switch {
		case err == EINTR:
		case err != nil:
			panic("getrandom: " + err.Error())
		default:
			b = b[n:]
		}
	}
}
