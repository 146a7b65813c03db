package schema_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]schema.Size{
		"0":                   0,
		"512":                 512,
		"64k":                 64000,
		"64K":                 64000,
		"64kB":                64000,
		"64Ki":                65536,
		"64KiB":               65536,
		"1.5G":                1500000000,
		"10MiB":               10 << 20,
		"10 MiB":              10 << 20,
		"0.5Ki":               512,
		"+1M":                 1000000,
		"-2k":                 -2000,
		"7E":                  7e18,
		"7Ei":                 7 << 60,
		"512B":                512,
		"9223372036854775807": math.MaxInt64,
		"8.0":                 8,
	} {
		if got, err := schema.ParseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"":      `"" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"k":     `"k" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"10mb":  `"10mb" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"1.k":   `"1.k" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		".5k":   `".5k" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"1e9":   `"1e9" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"iB":    `"iB" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"1..2":  `"1..2" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
		"1.1Ki": "1.1Ki is not a whole number of bytes", "0.5": "0.5 is not a whole number of bytes",
		"8Ei":                                "8Ei is too large a size",
		"9223372036854775808":                "9223372036854775808 is too large a size",
		"10E":                                "10E is too large a size",
		"1111111111111111111111111111111111": `"1111111111111111111111111111111111" is not a size, write it as 512, 64k, 1.5G or 10MiB`,
	} {
		if got, err := schema.ParseSize(in); err == nil || err.Error() != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestSizeString(t *testing.T) {
	for in, want := range map[schema.Size]string{
		0:             "0",
		512:           "512",
		1000:          "1kB",
		1024:          "1KiB",
		64000:         "64kB",
		1536:          "1536",
		10 << 20:      "10MiB",
		1e6:           "1MB",
		1024000:       "1000KiB",
		-2048:         "-2KiB",
		math.MaxInt64: "9223372036854775807",
		math.MinInt64: "-8EiB",
	} {
		if got := in.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(in), got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := schema.Size(rapid.Int64().Draw(rt, "size") >> rapid.IntRange(0, 62).Draw(rt, "shift") << rapid.IntRange(0, 62).Draw(rt, "up"))
		got, err := schema.ParseSize(s.String())
		if err != nil || got != s {
			rt.Fatalf("%d is written %s and read %d, %v", int64(s), s, int64(got), err)
		}
		b, _ := json.Marshal(s)
		var back schema.Size
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			rt.Fatalf("%s: %v", b, err)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"500ms":   500 * time.Millisecond,
		"1h30m":   90 * time.Minute,
		"2d":      48 * time.Hour,
		"1d12h":   36 * time.Hour,
		"1.5d":    36 * time.Hour,
		"-1d12h":  -36 * time.Hour,
		".5d":     12 * time.Hour,
		"0":       0,
		"7":       7 * time.Second,
		"-3":      -3 * time.Second,
		"1µs":     time.Microsecond,
		"106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := schema.ParseDuration(in, ""); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for unit, want := range map[string]time.Duration{"ns": 5, "us": 5e3, "ms": 5e6, "s": 5e9, "m": 3e11, "h": 18e12} {
		if got, err := schema.ParseDuration("5", unit); err != nil || got != want {
			t.Errorf("%s: %v, %v", unit, got, err)
		}
	}
	bad := func(s string) string {
		return `"` + s + `" is not a length of time, write it as 500ms, 10s, 1h30m or 2d`
	}
	for in, want := range map[string]string{
		"":                     bad(""),
		"d":                    bad("d"),
		"1x":                   bad("1x"),
		"1h2d":                 bad("1h2d"),
		"1d-1h":                bad("1d-1h"),
		"1 s":                  bad("1 s"),
		"1d5":                  bad("1d5"),
		"1.5":                  bad("1.5"),
		"forever":              bad("forever"),
		"1d2d":                 bad("1d2d"),
		"300y":                 bad("300y"),
		"3000000h":             "3000000h is too long a time",
		"400000d":              "400000d is too long a time",
		"106751d24h":           "106751d24h is too long a time",
		"9223372037":           "9223372037s is too long a time",
		"99999999999999999999": "99999999999999999999s is too long a time",
		"1000000000d":          "1000000000d is too long a time", "-400000d": "-400000d is too long a time",
	} {
		if got, err := schema.ParseDuration(in, "s"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0:                       "0s",
		time.Second:             "1s",
		time.Minute:             "1m",
		time.Hour:               "1h",
		90 * time.Minute:        "1h30m",
		48 * time.Hour:          "2d",
		25 * time.Hour:          "25h",
		time.Hour + time.Second: "1h0m1s",
		-24 * time.Hour:         "-1d",
		1500 * time.Millisecond: "1.5s",
		10 * time.Minute:        "10m",
		20 * time.Hour:          "20h",
	} {
		if got := schema.FormatDuration(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := time.Duration(rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(rt, "d"))
		d -= d % rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(rt, "round")
		if got, err := schema.ParseDuration(schema.FormatDuration(d), ""); err != nil || got != d {
			rt.Fatalf("%v: %v, %v", d, got, err)
		}
	})
}

func TestRef(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := schema.Ref{
			Kind: rapid.StringMatching(`[a-z]{1,5}`).Draw(rt, "kind"),
			Name: rapid.StringMatching(`[a-z\[\]./ ]{1,9}`).Draw(rt, "name"),
			Key:  rapid.StringMatching(`([a-z.]{1,5})?`).Draw(rt, "key"),
		}
		if got, err := schema.ParseRef(r.String()); err != nil || got != r {
			rt.Fatalf("%s: %#v, %v", r, got, err)
		}
	})
	for _, in := range []string{"", "a", "[a]", "a[]", "a[b", "a]b[", "a[b]c", "a[b]."} {
		if r, err := schema.ParseRef(in); err == nil {
			t.Errorf("%q: %#v", in, r)
		}
	}
}
