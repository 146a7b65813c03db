package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The bounds of a message. The body may be a graph file of the largest size, as JSON, where each byte of it takes up to six. A larger message ends
// the session: without its body the next header can't be found.
const (
	maxBody   = 256 << 20
	maxHeader = 4 << 10 // bytes of one header line
	maxLines  = 32      // of a header
)

// readFrame reads the body of the next message. It blocks until there is one. The error is io.EOF only before the first byte of a
// message; every other one says why the stream can't be read any further.
func readFrame(r *bufio.Reader) ([]byte, error) {
	size := -1
	for n := 0; ; n++ {
		line, err := headerLine(r)
		switch {
		case errors.Is(err, io.EOF) && n == 0 && line == "":
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("the header of a message can't be read: %w", err)
		case n > maxLines:
			return nil, fmt.Errorf("the header of a message has more than %d lines", maxLines)
		case line == "" && size < 0:
			return nil, errors.New("the header of a message has no Content-Length")
		case line == "":
			return body(r, size)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q is no line of a header", line)
		}
		// Content-Type has one allowed value, and other lines have no meaning here.
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxBody {
			return nil, fmt.Errorf("Content-Length is %q, it must be a number of bytes up to %d", strings.TrimSpace(value), maxBody)
		}
	}
}

// headerLine reads one line of a header, without its end.
func headerLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxHeader:
			return "", fmt.Errorf("a line has more than %d bytes", maxHeader)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return string(line), err
		default:
			return strings.TrimRight(string(line), "\r\n"), nil
		}
	}
}

// body reads so many bytes. It allocates as they arrive: a length alone costs no memory.
func body(r io.Reader, size int) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && len(src) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("the body of a message can't be read: %w", err)
	}
	return src, nil
}

// writeFrame writes one message, in one call, so that two of them never mix.
func writeFrame(w io.Writer, body []byte) error {
	_, err := w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	return err
}
