package transform

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// surveyGroup is the vertices that are surveyed by one call.
type surveyGroup struct {
	kind, key string
}

// survey asks the resources that are surveyed together what else they are. A fault of one of them is noted, and
// the others go on.
func (a *edgeQueries) survey(ctx context.Context, h engine.Host, vs []int32) {
	groups := map[surveyGroup][]int32{}
	var order []surveyGroup
	for _, v := range vs {
		s, ok := engine.As[engine.SurveyedRes](a.g.Value(int(v)).Res)
		if !ok {
			continue
		}
		group := surveyGroup{kind: s.Kind()}
		if err := callsafe.Do("GroupKey", func() error { group.key = s.GroupKey(); return nil }); err != nil {
			a.skip(v, err)
			continue
		}
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], v)
	}
	for _, group := range order {
		if err := a.surveyAll(ctx, h, groups[group]); err != nil && ctx.Err() == nil {
			a.skip(groups[group][0], err)
		}
	}
}

// surveyAll makes the call for one group.
func (a *edgeQueries) surveyAll(ctx context.Context, h engine.Host, vs []int32) error {
	members := make([]engine.Res, len(vs))
	for i, v := range vs {
		members[i] = a.g.Value(int(v)).Res
	}
	return callsafe.Do("Survey", func() error {
		all, err := members[0].(engine.SurveyedRes).Survey(ctx, h, members)
		if err != nil && len(all) == 0 {
			return err
		}
		if len(all) != len(members) {
			return fmt.Errorf("a survey of %d members answers for %d", len(members), len(all))
		}
		for i, s := range all {
			if len(s.UIDs) == 0 {
				continue
			}
			if a.surveyed == nil {
				a.surveyed = map[int32]engine.Surveyed{}
			}
			a.surveyed[vs[i]] = s
		}
		return err
	})
}

// known says how it is known that the other one is what was asked for, where a survey has told.
func (a *edgeQueries) known(w edgeRequest) string {
	other := w.from
	if other == w.asker {
		other = w.to
	}
	s := a.surveyed[other]
	if w.uid == nil || s.Why == "" {
		return ""
	}
	for _, u := range s.UIDs {
		if u != nil && w.uid.IFF(u) {
			return ", " + s.Why
		}
	}
	return ""
}
