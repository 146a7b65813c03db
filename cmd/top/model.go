package top

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
)

// asker is the daemon: *control.Client is one.
type asker interface {
	Status(context.Context, control.StatusQuery) (*control.Status, error)
	Events(context.Context, control.Query, *uint64) iter.Seq2[*control.Event, error]
	Log(context.Context, control.Query) (*control.Log, error)
	Detail(ctx context.Context, resource string, runs int) (*control.Detail, error)
	Pause(context.Context, control.PauseRequest) (*control.Done, error)
	Resume(context.Context, control.ResumeRequest) (*control.Done, error)
	Retry(context.Context, control.RetryRequest) (*control.Retried, error)
	Decide(context.Context, control.DecideRequest) (*control.Decided, error)
}

// page is what the screen shows.
type page int

const (
	pageList page = iota
	pageDetail
	pageLog
	pageHelp
)

// manyRuns is how many runs of a resource the model shows.
const manyRuns = 20

// model is what is on the screen. Its methods are called on the goroutine of the program.
type model struct {
	ctx     context.Context
	ask     asker
	clock   clock.Clock
	selects string
	host    string
	news    chan struct{} // see feed

	out    paper
	height int
	page   page
	back   []page // to which esc leads

	status *control.Status
	lost   error // why the status is an old one
	seen   activity

	order     []int // of the status's resources: those that are shown, sorted
	sort      sorting
	search    string
	searching bool
	cursor    string // the selected resource
	top       int    // the first line of the page that is shown

	subject string // the resource of the pages detail and log; empty for all
	detail  *control.Detail
	failed  error            // why there is no detail, or no log
	log     []*control.Event // of the subject

	dialog *dialog
	note   string // what came of the last key
}

func newModel(ask asker, c clock.Clock, s render.Style) *model {
	host, _ := os.Hostname() // without a name there is one word less
	return &model{
		ctx: context.Background(), ask: ask, clock: c, out: paper{s, 80}, host: host,
		news: make(chan struct{}, 1), height: 24, seen: activity{pulses: map[string]*pulse{}},
	}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// The answers of the daemon to what the model asks.
type (
	detailMsg struct {
		of     string
		detail *control.Detail
		err    error
	}
	logMsg struct {
		of  string
		log *control.Log
		err error
	}
	doneMsg struct {
		note string
		err  error
	}
)

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.out.width, m.height = msg.Width, msg.Height
	case statusMsg:
		return m, m.stands(msg)
	case eventsMsg:
		m.seen.add(msg)
		if m.page == pageLog && m.subject == "" && m.top > 0 {
			m.top += len(msg) // what is read stays where it is
		}
	case detailMsg:
		if m.dialog != nil && m.dialog.seen == nil && m.dialog.resource == msg.of {
			m.dialog.look(msg, m)
		}
		if msg.of == m.subject {
			m.detail, m.failed = msg.detail, msg.err
		}
	case logMsg:
		if msg.of == m.subject && m.page == pageLog {
			m.failed = msg.err
			if msg.err == nil {
				m.log = msg.log.Events
			}
		}
	case doneMsg:
		m.done(msg)
		return m, m.fresh()
	case tea.PasteMsg:
		m.typed(msg.Content)
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// stands takes how the daemon stands, and asks again for what the page shows beside that.
func (m *model) stands(msg statusMsg) tea.Cmd {
	if m.lost = msg.err; msg.err != nil {
		return nil
	}
	m.status = msg.status
	there := make(map[string]bool, len(m.status.Resources))
	for i := range m.status.Resources {
		there[m.status.Resources[i].Resource] = true
	}
	m.seen.keep(there)
	m.arrange()
	return m.fresh()
}

// fresh asks for what the page shows of a resource.
func (m *model) fresh() tea.Cmd {
	id, page := m.subject, m.page
	switch {
	case id != "" && page == pageDetail:
		return detailOf(m.ctx, m.ask, id)
	case id != "" && page == pageLog:
		return func() tea.Msg {
			log, err := m.ask.Log(m.ctx, control.Query{Resource: id, Limit: backlog})
			return logMsg{id, log, err}
		}
	}
	return nil
}

// detailOf asks for all about a resource.
func detailOf(ctx context.Context, ask asker, id string) tea.Cmd {
	return func() tea.Msg {
		d, err := ask.Detail(ctx, id, manyRuns)
		return detailMsg{id, d, err}
	}
}

// sorting is the order of the list.
type sorting int

const (
	byState sorting = iota
	byRate
	byDuration
	byRestlessness
	byName
	sortings
)

func (s sorting) String() string {
	return [...]string{"state", "rate", "duration", "restlessness", "name"}[s]
}

// urgency is the order of the states: what asks for a person comes first.
var urgency = [...]string{"failed", "held", "blocked", "would-change", "unknown", "paused", "running", "waiting", "starting"}

// arrange finds the resources that the search has, and sorts them. The sort is by numbers, or by words, that are computed once.
func (m *model) arrange() {
	m.order = m.order[:0]
	if m.status == nil {
		return
	}
	now, list := m.clock.Now(), m.status.Resources
	keys := make([]float64, len(list))
	words := strings.Fields(strings.ToLower(m.search))
	for i := range list {
		r := &list[i]
		if !matches(r, words) {
			continue
		}
		m.order = append(m.order, i)
		p := m.seen.pulses[r.Resource]
		switch {
		case m.sort == byState:
			keys[i] = float64(rank(r))
		case p == nil:
		case m.sort == byRate:
			keys[i] = -p.runs.value(now, rateSpan)
		case m.sort == byDuration:
			keys[i] = -float64(p.took)
		case m.sort == byRestlessness:
			keys[i] = -p.restless.value(now, restlessSpan)
		}
	}
	slices.SortFunc(m.order, func(a, b int) int {
		if keys[a] != keys[b] {
			if keys[a] < keys[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(list[a].Resource, list[b].Resource)
	})
	if m.place() < 0 && len(m.order) > 0 {
		m.cursor = list[m.order[0]].Resource
		if m.page == pageList {
			m.top = 0
		}
	}
}

// rank is where a state comes in the order of urgency.
func rank(r *control.Resource) int {
	at := slices.Index(urgency[:], shownState(r))
	if at < 0 {
		return len(urgency)
	}
	return at
}

// matches reports whether each word is somewhere in the name, the state or the error of a resource.
func matches(r *control.Resource, words []string) bool {
	for _, w := range words {
		if !strings.Contains(strings.ToLower(r.Resource), w) && !strings.Contains(shownState(r), w) && !strings.Contains(strings.ToLower(r.Error), w) {
			return false
		}
	}
	return true
}

// shownState is what a resource does, or how it rests.
func shownState(r *control.Resource) string {
	if r.Doing != "" {
		return r.Doing
	}
	return r.State
}

// place returns where the selected resource is in the list, below 0 for nowhere.
func (m *model) place() int {
	return slices.IndexFunc(m.order, func(i int) bool { return m.status.Resources[i].Resource == m.cursor })
}

// selected returns the resource that a key is about; nil for none.
func (m *model) selected() *control.Resource {
	id := m.cursor
	if m.page != pageList {
		id = m.subject
	}
	if m.status == nil || id == "" {
		return nil
	}
	for i := range m.status.Resources {
		if m.status.Resources[i].Resource == id {
			return &m.status.Resources[i]
		}
	}
	return nil
}
