package control

import (
	"context"
	"net/http"
	"time"
)

// NoticeList is the answer of GET /v1/notices.
type NoticeList struct {
	Receivers []NoticeReceiver `json:"receivers"` // in the order of their names
}

// NoticeReceiver is how one of those who are told of events stands. Sent, Failed and Dropped count from the start of the daemon.
type NoticeReceiver struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`   // journal, webhook, mail or command
	Queued  int       `json:"queued"` // messages
	Bytes   int       `json:"bytes"`  // of those
	Oldest  time.Time `json:"oldest,omitzero"`
	Sent    int       `json:"sent"`            // messages
	Failed  int       `json:"failed"`          // tries
	Dropped int       `json:"dropped"`         // events that were not told
	Error   string    `json:"error,omitempty"` // of the last try; absent where that went well
	Since   time.Time `json:"since,omitzero"`  // when tries began to fail
}

// Bad reports whether the receiver is not told, or was not told of everything.
func (r *NoticeReceiver) Bad() bool { return r.Error != "" || r.Dropped > 0 }

func (s *Server) getNotices(http.ResponseWriter, *http.Request) (any, error) {
	return NoticeList{s.notices()}, nil
}

func (s *Server) notices() []NoticeReceiver {
	if s.opt.Notices == nil {
		return []NoticeReceiver{}
	}
	return s.opt.Notices()
}

// badNotices returns those that are Bad.
func (s *Server) badNotices() (list []NoticeReceiver) {
	for _, r := range s.notices() {
		if r.Bad() {
			list = append(list, r)
		}
	}
	return list
}

// Notices returns who is told of events, and how that stands.
func (c *Client) Notices(ctx context.Context) (*NoticeList, error) {
	return ask[NoticeList](ctx, c, http.MethodGet, "/v1/notices", nil, nil)
}
