package cmd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// newManpage makes the hidden verb with which packaging/build makes the manual page. The date
// follows the specification of reproducible builds: seconds since 1970 in UTC, as text in
// SOURCE_DATE_EPOCH. Without the variable it is the present day. Any value but a number is an
// error.
func newManpage(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "manpage",
		Short:  "Write the manual page, dated by $SOURCE_DATE_EPOCH",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				seconds, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
				}
				at = time.Unix(seconds, 0)
			}
			_, err := fmt.Fprint(a.Out, manpage(cmd.Root(), at))
			return err
		},
	}
}

// manpage returns the page in the language of man(7). The sections are those of man-pages(7). All
// text comes from the help, so the two can't differ.
// Verbs below a verb, such as secret edit, have sections of their own. The verb help and hidden
// verbs have none.
func manpage(root *cobra.Command, at time.Time) string {
	var b strings.Builder
	name := roff(root.Name())
	fmt.Fprintf(&b, ".TH %s 1 %s \"%s %s\"\n", strings.ToUpper(name), at.UTC().Format(time.DateOnly), name, roff(cli.Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(lowerFirst(root.Short)))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I VERB\n.RI [ FLAG .\\|.\\|.]\n", name)
	b.WriteString(".SH DESCRIPTION\n")
	roffText(&b, root.Long)
	b.WriteString(".SH VERBS\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			manVerb(&b, cmd)
			for _, part := range cmd.Commands() {
				manVerb(&b, part)
			}
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	roffText(&b, cli.ExitCodes)
	b.WriteString(".SH EXAMPLES\n")
	roffText(&b, root.Example)
	b.WriteString(".SH FILES\n.TP\n.I /etc/mgmt/mgmt.yaml\nthe settings of the service and of the verbs\n.TP\n.I /etc/mgmt/graph.yaml\nthe graph, where the settings name no other\n.TP\n.I /var/lib/mgmt\nits state\n" +
		".SH SEE ALSO\n.BR systemctl (1),\n.BR journalctl (1)\n")
	return b.String()
}

// manVerb writes the section of the manual about one verb, from its help.
// Hidden flags are left out. The word in backquotes of a usage text names the argument.
func manVerb(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, ".SS %s\n", roff(cmd.UseLine()))
	roffText(b, cmd.Short+".")
	if cmd.Long != "" {
		roffText(b, cmd.Long)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		arg, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
		if arg != "" && f.Value.Type() != "bool" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(arg))
		}
		b.WriteString("\n" + roff(usage) + "\n")
	})
}

// roffText writes paragraphs; indented ones keep their lines.
// Paragraphs are separated by empty lines. An indented one is an example, and fill mode is off for
// it.
// Only paragraphs are told apart: lists and tables of the help are examples by their indentation.
func roffText(b *strings.Builder, text string) {
	for p := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(p, " ") {
			b.WriteString(".PP\n.nf\n" + roff(p) + "\n.fi\n")
		} else {
			b.WriteString(".PP\n" + roff(p) + "\n")
		}
	}
}

// roff escapes special characters: backslashes, hyphens, and a dot or an apostrophe
// at the begin of a line.
// A plain hyphen would become a typographic one, which can't be copied into a shell.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// lowerFirst lowers the first letter, for the middle of a sentence.
// The text has at least one byte, and the first one is a letter of ASCII.
func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
