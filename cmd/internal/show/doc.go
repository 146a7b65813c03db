// Package show tells a person at a terminal, a log and the journal of systemd what happens while an engine runs. Its Presenter is the observer of the
// engine; on a terminal, many alike changes are one line, and the last lines are a live area.
package show
