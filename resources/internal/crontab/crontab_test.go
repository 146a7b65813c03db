package crontab

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = `# DO NOT EDIT
MAILTO=root
0 4 * * * /bin/unnamed
# mgmt name: backup
PATH = /bin:/usr/bin
30	2 1,15 jan-mar sun /bin/backup  --all % x
# Puppet Name: report
@midnight /bin/report

# mgmt name: nothing
# mgmt name: orphan
FOO=bar
# mgmt name: report
*/5 * * * * /bin/again`

func TestParse(t *testing.T) {
	want := []Job{
		{"backup", [5]string{"30", "2", "1,15", "1-3", "0"}, "", []string{"PATH=/bin:/usr/bin"}, "/bin/backup  --all % x"},
		{"report", [5]string{}, "daily", nil, "/bin/report"},
		{"report", [5]string{"*/5", "*", "*", "*", "*"}, "", nil, "/bin/again"},
	}
	if got := Parse(sample).Jobs(); !slices.EqualFunc(got, want, Job.Equal) {
		t.Errorf("got %q", got)
	}
	if got := Parse(sample).Find("report"); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		field      int
		text, want string
	}{
		{0, "*", "*"}, {0, "absent", "*"}, {0, "*/1", "*"}, {0, "*,5", "*"}, {0, "*/15", "*/15"}, {0, "30,0", "0,30"}, {0, "07", "7"}, {0, "5,5", "5"},
		{0, "1-9/2, 30", "1-9/2,30"}, {0, "5-5/2", "5"}, {2, "31,1-3", "1-3,31"}, {3, "DEC,jan", "1,12"}, {3, "feb-apr/2", "2-4/2"},
		{4, "7", "0"}, {4, "sun", "0"}, {4, "5-7", "5-7"}, {4, "sat,Mon", "1,6"}, {4, "7-7", "0"},
		{0, "60", ""}, {0, "-1", ""}, {0, "", ""}, {0, "1,", ""}, {0, "5-1", ""}, {0, "5/2", ""}, {0, "*/0", ""}, {0, "*/x", ""}, {0, "jan", ""},
		{1, "24", ""}, {2, "0", ""}, {3, "13", ""}, {4, "8", ""}, {0, "1 2", ""}, {0, "1\n2", ""}, {0, "001", ""}, {0, "1-2-3", ""}, {0, "*-5", ""}, {0, "1/2/3", ""}, {0, "~", ""},
	} {
		f := Fields()[c.field]
		got, err := f.Canonical(c.text)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s %q: %q, %v", f.Name, c.text, got, err)
		}
		if again, err := f.Canonical(got); c.want != "" && (again != got || err != nil) {
			t.Errorf("%s %q: not canonical, %q, %v", f.Name, got, again, err)
		}
	}
}

func TestSpecial(t *testing.T) {
	for text, want := range map[string]string{"daily": "daily", "@midnight": "daily", "Annually": "yearly", "@reboot": "reboot", "": "", "@@daily": "", "daily\n": ""} {
		if got, err := Special(text); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

var every = [5]string{"*", "*", "*", "*", "*"}

func TestPut(t *testing.T) {
	j := Job{Name: "a", Times: [5]string{"0", "2", "*", "1-3", "0"}, Environment: []string{"A=b"}, Command: "/bin/a"}
	text := "# mgmt name: a\nA=b\n0 2 * 1-3 0 /bin/a\n"
	for _, c := range []struct{ name, text, want string }{
		{"into nothing", "", text},
		{"after a line without end", "# x", "# x\n" + text},
		{"the same is left", "# Puppet Name: a\nA = b\n00 2 * jan-mar sun  /bin/a\n", "# Puppet Name: a\nA = b\n00 2 * jan-mar sun  /bin/a\n"},
		{"another time", "# x\n# Puppet Name: a\n@daily /bin/a\n# y\n", "# x\n" + text + "# y\n"},
		{"one is left", text + "#\n" + text, text + "#\n"},
		{"one without a name is foreign", "A=b\n0 2 * 1-3 0 /bin/a\n", "A=b\n0 2 * 1-3 0 /bin/a\n" + text},
	} {
		f := Parse(c.text)
		if err := f.Put(j); err != nil || f.String() != c.want {
			t.Errorf("%s: %q, %v", c.name, f.String(), err)
		}
	}
}

// A name without a job does not get the next one when the one between them goes.
func TestOrphan(t *testing.T) {
	text := "# mgmt name: b\nA=b\n# mgmt name: a\n@daily x\n* * * * * foreign\n"
	f := Parse(text)
	if !f.Remove("a") || len(Parse(f.String()).Jobs()) != 0 {
		t.Errorf("left is %q", f.String())
	}
	if want := "# mgmt name: b\nA=b\n#\n* * * * * foreign\n"; f.String() != want {
		t.Errorf("left is %q", f.String())
	}
}

func TestRefused(t *testing.T) {
	ok := Job{Name: "a", Times: every, Command: "/bin/a"}
	for name, c := range map[string]struct {
		spoil func(*Job)
		says  string
	}{
		"no name":                 {func(j *Job) { j.Name = "" }, "name"},
		"a line in the name":      {func(j *Job) { j.Name = "a\n* * * * * evil" }, "name"},
		"a blank after it":        {func(j *Job) { j.Name = "a " }, "name"},
		"no command":              {func(j *Job) { j.Command = "" }, "command"},
		"a line in the command":   {func(j *Job) { j.Command = "a\n* * * * * evil" }, "command"},
		"a return in the command": {func(j *Job) { j.Command = "a\r" }, "command"},
		"a blank before it":       {func(j *Job) { j.Command = " a" }, "command"},
		"a line in a time":        {func(j *Job) { j.Times[0] = "*\n*" }, "minute"},
		"a bad time":              {func(j *Job) { j.Times[4] = "8" }, "weekday"},
		"no times":                {func(j *Job) { j.Times = [5]string{} }, "minute"},
		"both":                    {func(j *Job) { j.Special = "daily" }, "both"},
		"a bad special time":      {func(j *Job) { j.Special, j.Times = "x", [5]string{} }, "special"},
		"a line in a setting":     {func(j *Job) { j.Environment = []string{"A=b\n* * * * * evil"} }, "NAME=value"},
		"no setting":              {func(j *Job) { j.Environment = []string{"* * * * * evil"} }, "NAME=value"},
		"a setting with blanks":   {func(j *Job) { j.Environment = []string{"A = b"} }, "environment"},
	} {
		j := ok
		c.spoil(&j)
		f := Parse(sample)
		if err := f.Put(j); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if f.String() != sample {
			t.Errorf("%s: the crontab was altered", name)
		}
	}
}

func genJob() *rapid.Generator[Job] {
	return rapid.Custom(func(t *rapid.T) Job {
		j := Job{
			Name:    rapid.SampledFrom([]string{"a", "b", "a b", "é"}).Draw(t, "name"),
			Command: rapid.SampledFrom([]string{"/bin/x", "x  y ", "# no", "A=b c", "5 5 5 5 5"}).Draw(t, "command"),
		}
		if n := rapid.IntRange(0, 2).Draw(t, "environment"); n > 0 {
			j.Environment = []string{"A=b", `MAILTO=""`, "X="}[:n]
		}
		if rapid.Bool().Draw(t, "is special") {
			j.Special = rapid.SampledFrom(Specials()).Draw(t, "special")
			return j
		}
		for i, f := range Fields() {
			var err error
			text := rapid.SampledFrom([]string{"*", "*/2", "1,3", "2-5", "1-6/3", "absent", "5,2,2"}).Draw(t, f.Name)
			if j.Times[i], err = f.Canonical(text); err != nil {
				t.Fatal(err)
			}
		}
		return j
	})
}

// others returns the lines that are not of the job.
func others(f *File, name string) string {
	var b strings.Builder
	for _, i := range f.items {
		if i.job == nil || i.job.Name != name {
			b.WriteString(strings.TrimSuffix(i.text, "\n") + "\n")
		}
	}
	return b.String()
}

func TestLaws(t *testing.T) {
	block := rapid.OneOf(
		rapid.SampledFrom([]string{"", "# a", "A=b", "junk", "* * * * * x", "# mgmt name: a", "# Puppet Name: b\n@daily y", "# mgmt name: a b\nA = b\n5 jan"}),
		rapid.Map(genJob(), func(j Job) string { s, _ := render(j); return strings.TrimSuffix(s, "\n") }))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(block, 0, 6).Draw(t, "blocks"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "last")
		j := genJob().Draw(t, "job")
		f := Parse(text)
		if f.String() != text {
			t.Fatalf("printed %q", f.String())
		}
		if err := f.Put(j); err != nil {
			t.Fatal(err)
		}
		put := f.String()
		again := Parse(put)
		if got := again.Find(j.Name); len(got) != 1 || !got[0].Equal(j) {
			t.Fatalf("put %q, in %q there is %q", j, put, got)
		}
		if before, after := others(Parse(text), j.Name), others(again, j.Name); before != strings.ReplaceAll(after, "#\n", "") {
			t.Fatalf("foreign lines were %q, are %q", before, after)
		}
		if err := again.Put(j); err != nil || again.String() != put {
			t.Fatalf("a second Put: %v, %q", err, again.String())
		}
		if !again.Remove(j.Name) || again.Remove(j.Name) {
			t.Fatal("Remove does not know what is there")
		}
		gone := Parse(again.String())
		if before, after := others(Parse(text), j.Name), others(gone, j.Name); before != strings.ReplaceAll(after, "#\n", "") {
			t.Fatalf("foreign lines were %q, are %q after Remove", before, after)
		}
		left := slices.DeleteFunc(Parse(text).Jobs(), func(o Job) bool { return o.Name == j.Name })
		if got := gone.Jobs(); !slices.EqualFunc(got, left, Job.Equal) {
			t.Fatalf("of %q there is left %q, and not %q", put, got, left)
		}
	})
}

// Whatever the values are, one Put adds one job at most.
func FuzzPut(f *testing.F) {
	f.Add(sample, "backup", "1", "*/2", "mon", "", "A=b", "/bin/x")
	f.Add("", "a\nb", "*", "*", "*", "daily", "", "x\n")
	f.Fuzz(func(t *testing.T, text, name, minute, hour, weekday, special, env, command string) {
		c := Parse(text)
		if c.String() != text {
			t.Fatal("not the same text")
		}
		j := Job{Name: name, Special: special, Command: command}
		if special == "" {
			j.Times = [5]string{minute, hour, "*", "*", weekday}
		}
		if env != "" {
			j.Environment = []string{env}
		}
		before := strings.ReplaceAll(others(c, name), "#\n", "")
		if c.Put(j) != nil {
			if c.String() != text {
				t.Fatal("refused and altered")
			}
			return
		}
		again := Parse(c.String())
		if got := again.Find(name); len(got) != 1 || !got[0].Equal(j) {
			t.Fatalf("put %q, got %q", j, got)
		}
		if got := strings.ReplaceAll(others(again, name), "#\n", ""); before != got {
			t.Fatalf("foreign lines were %q, are %q", before, got)
		}
	})
}
