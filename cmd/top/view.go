package top

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// narrow is the width below which a row has the state and the name only.
const narrow = 60

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	return v
}

// screen is what the terminal shows: as many lines as it has, none wider than it is.
func (m *model) screen() string {
	lines := m.head()
	rows := m.rows()
	body := m.body(rows)
	lines = append(lines, body[:min(len(body), rows)]...)
	for len(lines) < m.height-footLines {
		lines = append(lines, "")
	}
	lines = append(lines, m.foot()...)
	lines = lines[:min(len(lines), max(m.height, 1))]
	for i, line := range lines {
		lines[i] = ansi.Truncate(strings.ReplaceAll(line, "\t", "    "), m.out.width, "...")
	}
	return strings.Join(lines, "\n")
}

// rows is how many lines are left for the body.
func (m *model) rows() int { return max(1, m.height-len(m.head())-footLines) }

// head has how the graph stands, and what is wrong with the daemon.
func (m *model) head() []string {
	s, now := m.out.style, m.clock.Now()
	if m.status == nil {
		if m.lost != nil {
			return []string{s.Paint(render.Red, render.Cell(m.lost.Error())), "trying again every second"}
		}
		return []string{"asking the daemon ..."}
	}
	st := m.status
	first := fmt.Sprintf("%s; %s, generation %d", render.RestText(st, s, now), render.Cell(st.Graph), st.Generation)
	if m.host != "" {
		first += " on " + render.Cell(m.host)
	}
	if m.lost != nil {
		first = s.Paint(render.Red, "no answer, trying again: "+render.Cell(m.lost.Error()))
	}
	counts := st.Counts
	if st.Selected != nil {
		counts = st.Selected.Counts
	}
	second := render.CountWords(counts)
	if rate := m.seen.rate.value(now, rateSpan); rate >= 0.5 {
		second += fmt.Sprintf("; %.0f events in a minute", rate)
	}
	lines := []string{first, second}
	warn := func(color, what, why string) {
		if why != "" {
			lines = append(lines, s.Paint(color, what)+" "+render.Cell(why))
		}
	}
	warn(render.Red, "the newest graph was refused:", st.Refused)
	warn(render.Yellow, "the newest graph is", st.Held)
	if st.StoreLost != nil {
		warn(render.Yellow, "the store does not answer:", st.StoreLost.Error)
	}
	if st.StateLost.Bad() {
		warn(render.Red, "the state folder has lost something:", "mgmt status has more")
	}
	return lines
}

// footLines is how many lines foot has.
const footLines = 2

// foot has what came of the last key, and the keys.
func (m *model) foot() []string {
	note := m.note
	switch {
	case m.searching:
		note = "search: " + render.Cell(m.search) + "_"
	case note == "" && m.page == pageList && m.search != "":
		note = fmt.Sprintf("search: %s (%d of %d; esc ends it)", render.Cell(m.search), len(m.order), len(m.status.Resources))
	case note == "" && m.page == pageList && len(m.order) > m.rowsOfList():
		note = fmt.Sprintf("%d of %d", m.place()+1, len(m.order))
	}
	return []string{render.Cell(note), m.out.style.Dim(m.keys())}
}

// keys names the keys of the page, the most important first: a narrow screen has those alone.
func (m *model) keys() string {
	switch {
	case m.dialog != nil:
		return m.dialog.keys()
	case m.searching:
		return "enter keep  esc end"
	case m.page == pageHelp:
		return "esc back  q quit"
	case m.page == pageLog:
		return "esc back  k j scroll  ? help  q quit"
	case m.out.width < narrow:
		if m.page == pageDetail {
			return "esc l p u r a x  ? help  q quit"
		}
		return "enter / s l e p r a  ? help  q quit"
	case m.page == pageDetail:
		return "esc back  l log  p pause  u resume  r retry  a approve  x reject  ? help"
	}
	return "enter open  / search  s sort  e events  p pause  r retry  a approve  ? all keys"
}

// body is the page. It bounds how far the page is moved.
func (m *model) body(rows int) []string {
	var lines []string
	switch {
	case m.dialog != nil:
		return m.dialog.body(m, rows)
	case m.page == pageList:
		return m.list(rows)
	case m.page == pageLog && m.subject == "":
		m.top = max(0, min(m.top, len(m.seen.events)-1))
		return m.out.events("events of all resources", m.seen.events, m.top, rows, m.failed)
	case m.page == pageLog:
		m.top = max(0, min(m.top, len(m.log)-1))
		return m.out.events("events of "+render.Cell(m.subject), m.log, m.top, rows, m.failed)
	case m.page == pageDetail:
		lines = m.out.resource(m.detail, m.failed)
	default:
		lines = strings.Split(helpText, "\n")
	}
	m.top = max(0, min(m.top, len(lines)-rows))
	return lines[m.top:min(len(lines), m.top+rows)]
}

// rowsOfList is how many resources the list has room for, below its head.
func (m *model) rowsOfList() int { return max(1, m.rows()-1) }

// list is the head of the table and its rows.
func (m *model) list(rows int) []string {
	if m.status == nil {
		return nil
	}
	head := "  STATE        RUNS/MIN     TIME RESTLESS  RESOURCE"
	if m.out.width < narrow {
		head = "  STATE        RESOURCE"
	}
	lines := []string{m.out.style.Dim(head)}
	if len(m.order) == 0 {
		return append(lines, "  no resources")
	}
	now := m.clock.Now()
	for at := m.top; at < len(m.order) && len(lines) < rows; at++ {
		r := &m.status.Resources[m.order[at]]
		lines = append(lines, m.out.row(r, m.seen.pulses[r.Resource], now, r.Resource == m.cursor))
	}
	return lines
}

// paper is what the texts of a screen are written for.
type paper struct {
	style render.Style
	width int
}

// row is a resource on one line. The selected one is marked.
func (o paper) row(r *control.Resource, p *pulse, now time.Time, selected bool) string {
	state, middle, tail := fmt.Sprintf("%-12s", shownState(r)), "", ""
	if o.width >= narrow {
		rate, took, restless := "-", "-", "-"
		if p != nil {
			rate, restless = few(p.runs.value(now, rateSpan)), few(p.restless.value(now, restlessSpan))
			if p.took > 0 {
				took = shortTime(p.took)
			}
		}
		middle = fmt.Sprintf(" %8s %8s %8s ", rate, took, restless)
	}
	name := render.Cell(r.Resource)
	switch {
	case r.Error != "":
		tail = ": " + render.Cell(r.Error)
	case r.Held != nil:
		tail = ": " + render.Cell(r.Held.Reason)
	case r.BlockedBy != "":
		tail = " by " + render.Cell(r.BlockedBy)
	case r.WaitsFor != "":
		tail = " for " + render.Cell(r.WaitsFor)
	case r.Pause != nil && r.Pause.Reason != "":
		tail = ": " + render.Cell(r.Pause.Reason)
	}
	if selected {
		line := "> " + state + middle + " " + name + tail
		if o.style.Color {
			line = o.style.Paint(render.Reverse, fmt.Sprintf("%-*s", o.width, ansi.Truncate(line, o.width, "...")))
		}
		return line
	}
	return "  " + o.style.Paint(render.StateColor(shownState(r)), state) + middle + " " + name + o.style.Dim(tail)
}

// few writes a decayed count; one that is forgotten is a dash.
func few(n float64) string {
	switch {
	case n < 0.05:
		return "-"
	case n < 10:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// shortTime writes a span with three digits.
func shortTime(d time.Duration) string {
	for _, u := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if d >= 10*u {
			return d.Round(u).String()
		}
		if d >= u {
			return d.Round(u / 10).String()
		}
	}
	return d.Round(time.Microsecond).String()
}

// resource is the page of one resource. failed is why there is no detail.
func (o paper) resource(d *control.Detail, failed error) []string {
	s := o.style
	switch {
	case failed != nil:
		return o.wrapped(s.Paint(render.Red, render.Visible(failed.Error())))
	case d == nil:
		return []string{"asking ..."}
	}
	var b strings.Builder
	b.WriteString(s.Name(render.Visible(d.Resource)))
	if d.Status == nil {
		b.WriteString(" is no longer in the graph")
	} else {
		b.WriteString(" " + render.StandText(d.Status, s))
	}
	b.WriteByte('\n')
	if d.Source != "" {
		b.WriteString("declared in " + render.Visible(d.Source) + "\n")
	}
	if d.Status != nil && d.Status.Held != nil && len(d.Status.Held.Changes) > 0 {
		fmt.Fprintf(&b, "it wants to change this (%s):\n", render.Visible(d.Status.Held.Digest))
		render.WriteChanges(&b, s, d.Status.Held.Changes)
	}
	if len(d.Params) > 0 {
		b.WriteString("\n" + s.Dim("DECLARED") + "\n")
	}
	for i := range d.Params {
		o.writeParam(&b, &d.Params[i])
	}
	o.writeNeighbors(&b, "WAITS FOR", d.Needs)
	o.writeNeighbors(&b, "NEEDED BY", d.Dependents)
	if d.More > 0 {
		fmt.Fprintf(&b, "  and %d more\n", d.More)
	}
	b.WriteString("\n" + s.Dim("LAST RUNS") + "\n" + strings.TrimPrefix(render.RunsText(d.Runs, s), "\n"))
	return o.wrapped(b.String())
}

// writeParam writes a parameter, and what the machine has in its place.
func (o paper) writeParam(b *strings.Builder, p *control.Param) {
	switch {
	case len(p.From) > 0:
		fmt.Fprintf(b, "  %s = from %s", render.Visible(p.Name), render.Visible(strings.Join(p.From, ", ")))
	default:
		fmt.Fprintf(b, "  %s = %s", render.Visible(p.Name), valueText(p.Declared, p.DeclaredBytes))
	}
	if p.Differs {
		b.WriteString("\n    " + o.style.Paint(render.Yellow, "the machine has "+valueText(p.Actual, p.ActualBytes)))
	}
	b.WriteByte('\n')
}

// maxValue is how many bytes of a value the page shows.
const maxValue = 400

// valueText writes a value as JSON does, or its length.
func valueText(x any, size int) string {
	switch {
	case size > 0:
		return fmt.Sprintf("(%d bytes)", size)
	case x == nil:
		return "nothing"
	}
	text, err := json.Marshal(x)
	if err != nil {
		return render.Visible(fmt.Sprint(x))
	}
	if more := len(text) - maxValue; more > 0 {
		return render.Visible(string(text[:maxValue])) + fmt.Sprintf(" (%d more bytes)", more)
	}
	return render.Visible(string(text))
}

func (o paper) writeNeighbors(b *strings.Builder, title string, list []control.Neighbor) {
	if len(list) > 0 {
		b.WriteString("\n" + o.style.Dim(title) + "\n")
	}
	for _, n := range list {
		b.WriteString("  " + render.Visible(n.Resource) + " " + o.style.Paint(render.StateColor(n.State), n.State))
		if n.Notify {
			b.WriteString(", by a notification")
		}
		b.WriteByte('\n')
	}
}

// events has the newest events that fit, the newest last, without the top newest ones. failed is why there are none.
func (o paper) events(title string, list []*control.Event, top, rows int, failed error) []string {
	rows--
	if top > 0 {
		title += fmt.Sprintf(" (%d newer ones below)", top)
	}
	var blocks [][]string
	have := 0
	for i := len(list) - 1 - top; i >= 0 && have < rows; i-- {
		block := o.wrapped(render.EventText(list[i], o.style))
		blocks, have = append(blocks, block), have+len(block)
	}
	lines := []string{o.style.Dim(title)}
	if failed != nil {
		return append(lines, o.style.Paint(render.Red, render.Cell(failed.Error())))
	}
	if have == 0 {
		return append(lines, "no events")
	}
	cut := max(0, have-rows) // of the oldest one
	for i := len(blocks) - 1; i >= 0; i-- {
		skip := min(cut, len(blocks[i]))
		cut -= skip
		lines = append(lines, blocks[i][skip:]...)
	}
	return lines
}

// wrapped breaks a text into lines that the screen has room for.
func (o paper) wrapped(text string) (lines []string) {
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\t", "    ")
	for line := range strings.Lines(render.Wrapped(text+"\n", o.width)) {
		lines = append(lines, strings.Split(ansi.Hardwrap(strings.TrimSuffix(line, "\n"), o.width, true), "\n")...)
	}
	return lines
}

// changesText has one line for each change, with the differences of texts.
func changesText(s render.Style, changes []control.Change) string {
	var b strings.Builder
	render.WriteChanges(&b, s, changes)
	return b.String()
}
