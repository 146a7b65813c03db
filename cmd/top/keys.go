package top

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// helpText is the page of the keys.
const helpText = `up down k j    one line
pgup pgdn      one page (ctrl+b ctrl+f)
home end g G   first, last
enter right    open the resource
esc left h     back, end the search
/              search names and errors
s              sort: state, rate,
               duration, restlessness,
               name
l              events of the resource
e              events of all resources
q ctrl+c       quit
ctrl+z         suspend

p              pause the resource
u              resume: end its pause, or
               release what is held
r              retry it, if it failed
a              approve its change
x              reject its change

An action shows what it will do, and
asks for a yes.

RUNS/MIN  runs with news, last minute
TIME      of the last one
RESTLESS  changes, failures and holds,
          last hour
`

// key does what a key says.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.note = ""
	word := k.String()
	switch {
	case word == "ctrl+c":
		return tea.Quit
	case word == "ctrl+z":
		return tea.Suspend
	case m.dialog != nil:
		return m.dialog.key(m, k)
	case m.searching:
		m.searchKey(k)
		return nil
	}
	switch word {
	case "q":
		return tea.Quit
	case "?", "f1":
		return m.open(pageHelp, m.subject)
	case "esc", "left", "h", "backspace":
		return m.leave()
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "ctrl+b", "ctrl+u":
		m.move(-m.rows())
	case "pgdown", "ctrl+f", "ctrl+d", "space":
		m.move(m.rows())
	case "home", "g":
		m.move(-1 << 30)
	case "end", "G":
		m.move(1 << 30)
	case "enter", "right":
		if m.page == pageList && m.cursor != "" {
			return m.open(pageDetail, m.cursor)
		}
	case "l":
		if r := m.selected(); r != nil && m.page != pageLog {
			return m.open(pageLog, r.Resource)
		}
	case "e":
		if m.page != pageLog || m.subject != "" {
			return m.open(pageLog, "")
		}
	case "/":
		m.page, m.back, m.subject, m.searching = pageList, nil, "", true
		m.show()
	case "s":
		m.sort = (m.sort + 1) % sortings
		m.arrange()
		m.show()
		m.note = "sorted by " + m.sort.String()
	case "p", "u", "r", "a", "x":
		return m.begin(verbOf[word])
	}
	return nil
}

// searchKey is a key while the words of a search are typed.
func (m *model) searchKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.searching = false
		return
	case "esc":
		m.searching, m.search = false, ""
	case "up":
		m.move(-1)
		return
	case "down":
		m.move(1)
		return
	default:
		m.search = edited(m.search, k)
	}
	m.arrange()
	m.show()
}

// edited is a text after a key.
func edited(text string, k tea.KeyPressMsg) string {
	switch k.String() {
	case "backspace":
		if r := []rune(text); len(r) > 0 {
			return string(r[:len(r)-1])
		}
		return text
	case "ctrl+u":
		return ""
	}
	return text + k.Text
}

// typed takes a text that was pasted: where one is written, as if it was typed without the ends of lines.
func (m *model) typed(text string) {
	k := tea.KeyPressMsg{Text: strings.Join(strings.Fields(text), " ")}
	switch {
	case m.dialog != nil:
		m.dialog.write(k)
	case m.searching:
		m.searchKey(k)
	}
}

// open shows a page, from which leave leads back.
func (m *model) open(p page, subject string) tea.Cmd {
	if p == m.page {
		return nil
	}
	m.back = append(m.back, m.page)
	if subject != m.subject {
		m.subject, m.detail, m.log, m.failed = subject, nil, nil, nil
	}
	m.page, m.top = p, 0
	return m.fresh()
}

// leave goes back one page. In the list it ends the search.
func (m *model) leave() tea.Cmd {
	if n := len(m.back); n > 0 {
		m.page, m.back, m.top = m.back[n-1], m.back[:n-1], 0
		if m.page == pageList {
			m.subject = ""
			m.show()
		}
		return m.fresh()
	}
	m.search = ""
	m.arrange()
	m.show()
	return nil
}

// move moves the selection of the list, or the text of a page.
func (m *model) move(by int) {
	if m.page != pageList {
		if m.page == pageLog {
			by = -by // it is read from its end
		}
		m.top = max(0, m.top+by) // the view bounds it
		return
	}
	if len(m.order) == 0 {
		return
	}
	at := min(max(m.place()+by, 0), len(m.order)-1)
	m.cursor = m.status.Resources[m.order[at]].Resource
	m.show()
}

// show moves the list so that the selected resource is in it.
func (m *model) show() {
	if m.page != pageList {
		return
	}
	at, rows := max(m.place(), 0), m.rowsOfList()
	m.top = min(max(m.top, at-rows+1, 0), at)
}
