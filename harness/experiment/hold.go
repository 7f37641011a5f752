package experiment

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"heddle/harness/change"
	"heddle/yarnclient"
)

// take takes the right to change a cluster, for all trials of the run on it. This ends
// what an earlier heddle left there that was killed: its applications, faults, cached
// blocks, labels, and the files of its jobs. It fails if another heddle holds the
// cluster. So the trials of two runs are never on a cluster at the same time.
func (w *clusterWorld) take(ctx context.Context, name string) (err error) {
	c := w.clusters[name]
	if c.target == nil {
		if c.target, err = change.Connect(w.options.config(name)); err != nil {
			return err
		}
	}
	c.hold, err = change.Take(ctx, c.target, change.Options{
		Purpose: "heddle run " + w.options.Experiment.Name, Folder: w.folder, Log: slog.New(slog.NewTextHandler(progressLog(w.tell),
			&slog.HandlerOptions{ReplaceAttr: textAlone})),
	})
	return err
}

// held returns this run's hold on a cluster. If the last trial has lost it, it takes it
// anew. A hold ends with the context that it was taken with, so that is not this
// trial's.
func (t *trialRun) held() (*change.Hold, error) {
	c := t.world.clusters[t.plan.Model.Cluster]
	if c.hold != nil && c.hold.Lost() == nil {
		return c.hold, nil
	}
	t.cache = nil // it was put back with all else
	err := t.world.retake(t.plan.Model.Cluster)
	return c.hold, err
}

// tellOthers tells the user about unfinished applications, which disturb measurements.
func (w *clusterWorld) tellOthers(ctx context.Context, name string) error {
	apps, err := w.clusters[name].RM.Apps(ctx, yarnclient.AppFilter{States: yarnclient.Unfinished})
	if err != nil {
		return fmt.Errorf("look for other running applications: %w", err)
	}
	for _, app := range apps {
		w.tell(fmt.Sprintf("%s (%s, of user %s) also runs on the cluster and will disturb the measurement", app.ID, app.Name, app.User))
	}
	return nil
}

func (w *clusterWorld) tell(text string) { w.options.Progress(Step{Doing: "look", Text: text}) }

// progressLog is a writer that passes the lines of a log to the user as messages
// about the run's progress.
type progressLog func(text string)

func (tell progressLog) Write(line []byte) (int, error) {
	tell(string(bytes.TrimSpace(line)))
	return len(line), nil
}

// textAlone leaves the time and level out of a log's lines.
func textAlone(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}
