// Package crontab reads and edits the format of `crontab -l`: jobs with five times or a special
// one, settings of the environment, comments. A job has a name by the comment that stands right
// before it, `# mgmt name: backup`, or before the settings that stand before it; Puppet's comment,
// `# Puppet Name: backup`, counts as well.
//
// # Laws
//
//   - Parse(text).String() is text, byte for byte, whatever it is.
//   - A named job is its comment, the settings after that, and its line. All else is foreign, jobs
//     without a name too: no method alters or moves it.
//   - Put makes exactly one job of a name. It alters nothing if there is one already that says the
//     same; otherwise it rewrites the first of them, with our comment, or appends one.
//   - Parse reads the lines of Put back as the same Job. A value that could not be read back is an
//     error: no value can bring a second line with it.
//   - Remove takes the jobs of a name away, and nothing else.
//   - Times have one form (see Times): two that mean the same are equal.
//
// A setting holds for all jobs below it. That is how cron works, and no program that edits crontabs
// can alter it.
package crontab
