package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Needs requires an argument for each of words, and names the missing one.
// An empty argument counts as missing, since it would name another path of the API.
func Needs(words ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(words) {
			return fmt.Errorf("the %s is not given", words[len(args)])
		}
		if i := slices.Index(args[:len(words)], ""); i >= 0 {
			return fmt.Errorf("the %s is empty", words[i])
		}
		return nil
	}
}

// Exactly is Needs for a verb that takes no further argument: one is likely a path split at a blank.
func Exactly(words ...string) cobra.PositionalArgs {
	return cobra.MatchAll(Needs(words...), cobra.MaximumNArgs(len(words)))
}

// CheckCount checks -n.
// The daemon has the same bounds; here the error names the flag.
func CheckCount(n, most int) error {
	if n < 1 || n > most {
		return fmt.Errorf("-n %d: write a number from 1 to %d", n, most)
	}
	return nil
}

// ExitCodes is the text for help, the manual page and the reference. The numbers are bits up to 4:
// 6 is 2 and 4.
// It is text of the documentation: a change of it needs `make docs`.
const ExitCodes = `  0  all is as wanted; also after a signal
  1  bad usage, or a graph that does not load (run, apply, reload, status --exit-code),
     or a verb that needs Linux on another system
  2  something would change (plan, run --noop, fmt --check), is held by a limit, or
     was changed (resource)
  4  some resources failed or are blocked, or a call of a function failed
  5  ended by --max-runtime or before the first convergence, or --wait took too long
  6  both 2 and 4
`

// FlagError guesses the meaning of an unknown flag, and names the values of a
// number or a switch.
// Hidden flags are not offered as a guess.
// An error of another kind, such as a flag without its value, has the words of the library.
func FlagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(bad)
	}
	bad, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := bad.GetSpecifiedName()
	if short := bad.GetSpecifiedShortnames(); short != "" {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	if near := Meant(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s%s", name, strings.Replace(near, `"`, `"--`, 1))
	}
	return fmt.Errorf("unknown flag --%s; see %s --help", name, cmd.CommandPath())
}

// valueError puts the words of Go about a number into such for people.
// Other errors are returned as they are: the settings have messages of their own.
func valueError(err *pflag.InvalidValueError) error {
	num, ok := errors.AsType[*strconv.NumError](err.Unwrap())
	if !ok {
		return err
	}
	given := fmt.Sprintf("--%s=%s", err.GetFlag().Name, err.GetValue())
	switch {
	case err.GetFlag().Value.Type() == "bool":
		return fmt.Errorf("%s: write --%s alone, or with =false", given, err.GetFlag().Name)
	case errors.Is(num.Err, strconv.ErrRange):
		return fmt.Errorf("%s: the number is too large", given)
	case err.GetFlag().Value.Type() == "uint64":
		return fmt.Errorf("%s: write a whole number, 0 or more", given)
	default:
		return fmt.Errorf("%s: write a whole number", given)
	}
}

// Exclude makes flags mutually exclusive. cobra would check this only after PreRun, with a longer message.
func Exclude(cmd *cobra.Command, names ...string) {
	// The check of the library never runs where ours finds something, since PreRun comes first.
	cmd.MarkFlagsMutuallyExclusive(names...) // for completion
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		var given []string
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 {
			return fmt.Errorf("%s exclude each other", strings.Join(given, " and "))
		}
		if next != nil {
			return next(cmd, args)
		}
		return nil
	}
}

// UnknownVerb returns an error if the arguments begin with an unknown verb. It runs before cobra, whose error has another
// hint.
func UnknownVerb(root *cobra.Command, args []string) error {
	// The library adds help only when it runs, and help is a verb for Find, too.
	root.InitDefaultHelpCmd()
	if _, _, err := root.Find(args); err == nil {
		return nil
	}
	word := firstWord(root, args)
	if word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd {
		return nil // asked by the shell; the library adds these when it runs
	}
	return noVerb(root, word)
}

// firstWord returns the word that stands in the place of a verb, empty for none. The value of a flag is not one. As for cobra, a flag
// without = takes the next word, unless the program knows that it needs no value.
func firstWord(root *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg != "" && !strings.HasPrefix(arg, "-") {
			return arg
		}
		var f *pflag.Flag
		switch name, long := strings.CutPrefix(arg, "--"); {
		case strings.Contains(arg, "="):
			continue
		case long:
			f = root.Flags().Lookup(name)
		case len(arg) == 2:
			f = root.Flags().ShorthandLookup(arg[1:])
		default:
			continue
		}
		if f == nil || f.NoOptDefVal == "" {
			i++
		}
	}
	return ""
}

// noVerb is the error of an unknown verb.
// A file in the place of a verb gets the hint to run it, a frequent mistake.
func noVerb(root *cobra.Command, word string) error {
	var verbs []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			verbs = append(verbs, cmd.Name())
		}
	}
	hint := Meant(word, verbs)
	if yaml.NotationOf(word).Name != "" {
		hint = fmt.Sprintf(" (did you mean \"run %s\"?)", word)
	}
	return fmt.Errorf("unknown command %q%s; see %s --help", word, hint, root.Name())
}

// HelpArgs makes help for an unknown verb an error.
// cobra itself prints the general help then, and ends with code 0.
func HelpArgs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	// An argument check runs before the help is printed, so the code is 1 and nothing is on
	// standard output.
	help.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if _, _, err := root.Find(args); err != nil {
			return noVerb(root, args[0])
		}
		return nil
	}
}

// SayArgs makes the verbs below cmd name the arguments that they take; cobra only counts them.
// The check itself stays the verb's.
func SayArgs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		SayArgs(c)
	}
	check := cmd.Args
	if check == nil || !cmd.Runnable() {
		return
	}
	// Errors that do not begin as the library begins its own are those of our checks, and pass.
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || !slices.ContainsFunc(countings, func(w string) bool { return strings.HasPrefix(err.Error(), w) }) {
			return err
		}
		use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case cmd.HasSubCommands():
			return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
		case len(args) == 0:
			return fmt.Errorf("missing argument, write: %s", use)
		}
		return fmt.Errorf("unexpected argument %q, write: %s", args[len(args)-1], use)
	}
}

// countings are how the library begins to say that there are too many or too few.
// They are texts of cobra. A test of the messages finds another wording of a later version.
var countings = []string{"accepts ", "requires ", "unknown command "}
