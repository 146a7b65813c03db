package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Confirm asks the operator on a terminal. Elsewhere only the flag --yes answers.
func Confirm(a *App, yes bool, question string) error {
	if yes {
		return nil
	}
	if in, ok := a.In.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
		return errors.New("nothing is changed: there is no terminal to ask on; check what is shown, and repeat it with --yes")
	}
	fmt.Fprintf(a.Err, "%s Type yes: ", question)
	answer, err := bufio.NewReader(io.LimitReader(a.In, 100)).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.Join(errors.New("nothing is changed: the answer is not yes"), err)
	}
	return nil
}
