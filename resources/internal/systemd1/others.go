package systemd1

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
)

// jobLook is how often a job is looked at again whose end the signals of the waiting unit do not tell.
const jobLook = 2 * time.Second

// destructive is the error that a job of another client would be undone.
const destructive = name + ".TransactionIsDestructive"

func wait(j *Job) error { return &failure.WaitError{For: j.String(), Again: jobLook} }

// dependsOn are the properties with the units on which one depends so that it is stopped or restarted with them.
var dependsOn = []string{"PartOf", "BindsTo", "Requires", "Requisite"}

// stopping are the jobs that end something. A job that only starts something is in no job's way.
var stopping = []string{"stop", "restart", "try-restart", "reload-or-start"}

// pending returns the job that must end before anything else is begun with a unit: its own, or a
// job that stops or restarts a unit that it is part of or depends on. It returns nil for none.
func (m *Manager) pending(ctx context.Context, u Unit) (*Job, error) {
	if j := u.Job(); j != nil {
		return j, nil
	}
	jobs, err := m.jobs(ctx)
	jobs = slices.DeleteFunc(jobs, func(j *Job) bool { return !slices.Contains(stopping, j.Type) })
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	for _, key := range dependsOn {
		units, err := m.list(ctx, u, key)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if slices.Contains(units, j.Unit) {
				return j, nil
			}
		}
	}
	return nil, nil
}

// undisturbed returns a wait for the job that must end first, if there is one.
func (m *Manager) undisturbed(ctx context.Context, u Unit) error {
	j, err := m.pending(ctx, u)
	if j == nil {
		return err
	}
	return wait(j)
}

// jobs returns all jobs of the manager.
func (m *Manager) jobs(ctx context.Context) ([]*Job, error) {
	body, err := m.call(ctx, "ListJobs")
	if err != nil {
		return nil, err
	}
	var jobs []*Job
	for _, row := range rowsOf(body) {
		if len(row) >= 3 {
			jobs = append(jobs, &Job{ID: fmt.Sprint(row[0]), Unit: fmt.Sprint(row[1]), Type: fmt.Sprint(row[2]), session: m.session})
		}
	}
	return jobs, nil
}

// awaited makes a wait of the answer that a job would undo a job of another client.
func (m *Manager) awaited(ctx context.Context, unit string, err error) error {
	if !IsError(err, destructive) {
		return err
	}
	if u, uerr := m.Unit(ctx, unit); uerr == nil && u.Job() != nil {
		return wait(u.Job())
	}
	return &failure.WaitError{For: fmt.Sprintf("a job of systemd (systemctl list-jobs): %v", err), Again: jobLook}
}
