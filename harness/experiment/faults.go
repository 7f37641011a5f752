package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs"
	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/yarnclient"
)

// faultsRoot has a folder for each trial with faults, by its own name, and in it
// one for each node that is to be brought back: "up-NODE", "slow-NODE". They are
// made before anything goes wrong, so that the next run finds what one that was
// killed has left. Folders need no DataNode.
const (
	faultsRoot   = dataRoot + "/faults"
	faultsPrefix = "faults"
)

// Limits of what brings a node back: its command, and its daemons.
const (
	commandLimit = 20 * time.Second
	backLimit    = 2 * time.Minute
)

// refuseKeys names the keys of an experiment that a cluster cannot honour.
func refuseKeys(e *config.Experiment, c *config.Cluster) error {
	var list []config.Problem
	refuse := func(bad bool, path, format string, args ...any) {
		if bad {
			list = append(list, config.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	refuse(e.CachePolicy != "", "cachePolicy", "the cache of cluster %s is HDFS's, as it is; leave the key out, or simulate", c.Name)
	refuse(e.Speculation == config.SpeculationLATE, "speculation", "%s is no rule of Hadoop's; want %s or %s, or simulate", config.SpeculationLATE, config.SpeculationNone, config.SpeculationHadoop)
	for i := range e.Faults {
		f, path := &e.Faults[i], fmt.Sprintf("faults[%d]", i)
		refuse(f.What == config.FaultFailAttempts, path+".what", "attempts fail by themselves on a cluster; leave %s to simulations", f.What)
		refuse(f.What != config.FaultFailAttempts && c.Faults.For(f.What, "node", 1) == nil, path+".what",
			"the file of cluster %s has no command for %s under faults: (nodeDown with nodeUp, nodeSlow)", c.Name, f.What)
	}
	if len(list) > 0 {
		return &config.Error{File: e.Name, Problems: list}
	}
	return nil
}

// refuseNodes names the faults on nodes that are not there.
func refuseNodes(e *config.Experiment, nodes []traces.NodeFacts) error {
	var list []config.Problem
	for i := range e.Faults {
		if _, err := e.Faults[i].On(nodes); err != nil {
			list = append(list, config.Problem{Path: fmt.Sprintf("faults[%d]", i), Message: err.Error()})
		}
	}
	if len(list) > 0 {
		return &config.Error{File: e.Name, Problems: list}
	}
	return nil
}

// refuseNodesOf is refuseNodes of a cluster's workers, those included that a run
// that died has left down.
func refuseNodesOf(ctx context.Context, e *config.Experiment, c *clients.Clients) error {
	if len(e.Faults) == 0 {
		return nil
	}
	list, err := c.RM.Nodes(ctx, "RUNNING", "LOST", "UNHEALTHY", "SHUTDOWN", "REBOOTED")
	if err != nil {
		return err
	}
	return refuseNodes(e, factsOf(list))
}

func factsOf(list []yarnclient.Node) []traces.NodeFacts {
	var nodes []traces.NodeFacts
	for _, n := range list {
		nodes = append(nodes, traces.NodeFacts{Node: traces.Node(n.Host), Rack: n.Rack})
	}
	return nodes
}

// speculating has a workload's jobs follow the experiment's rule, unless its own
// settings say otherwise.
func speculating(w config.Workload, rule string) workload.Workload {
	if rule == "" {
		return workload.Of(w)
	}
	on := fmt.Sprint(rule == config.SpeculationHadoop)
	settings := map[string]string{"mapreduce.map.speculative": on, "mapreduce.reduce.speculative": on}
	maps.Copy(settings, w.Settings)
	w.Settings = settings
	return workload.Of(w)
}

// faultRun is the faults of a trial under way on a cluster. Nil is none.
type faultRun struct {
	cluster *clients.Clients
	session *capture.Session
	faults  config.Faults
	nodes   []yarnclient.Node
	note    string         // folder of what is to be undone
	changed map[undo]int64 // see bringBack
	log     *os.File
	stop    func()
	ended   chan struct{} // closed when nothing more happens
	failed  error         // then
}

// undo is a node that is to be brought back, what is config.FaultUp, or made as
// fast as it was, config.FaultSlow.
type undo struct {
	what string
	node traces.Node
}

func (u undo) String() string { return u.what + "-" + string(u.node) }

// beginFaults has the trial's faults happen from its first submission on. One that
// cannot be carried out ends the context that is returned.
func (t *trialRun) beginFaults(ctx context.Context, session *capture.Session) (context.Context, *faultRun, error) {
	e := t.options.Experiment
	if len(e.Faults) == 0 {
		return ctx, nil, nil
	}
	r := &faultRun{
		cluster: t.cluster, session: session, faults: slices.Clone(e.Faults), note: path.Join(faultsRoot, ownName(faultsPrefix)),
		changed: map[undo]int64{}, ended: make(chan struct{}),
	}
	slices.SortStableFunc(r.faults, func(a, b config.Fault) int { return cmp.Compare(a.At, b.At) })
	var err error
	if r.nodes, err = t.cluster.RM.Nodes(ctx, "RUNNING"); err != nil {
		return ctx, nil, fmt.Errorf("faults: %w", err)
	}
	if err := r.noteDown(); err != nil {
		return ctx, nil, err
	}
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return ctx, nil, err
	}
	defer logs.Close()
	if r.log, err = logs.OpenFile("faults.log", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
		return ctx, nil, fmt.Errorf("faults: %w", err)
	}
	running, stop := context.WithCancelCause(ctx)
	r.stop = func() { stop(nil) }
	go func() {
		defer close(r.ended)
		if r.failed = r.happen(running); r.failed != nil {
			stop(errors.New("a fault could not be carried out"))
		}
	}()
	return running, r, nil
}

// noteDown notes what is to be undone before it is done.
func (r *faultRun) noteDown() error {
	files, err := r.cluster.HDFS.Files()
	if err != nil {
		return err
	}
	for i := range r.faults {
		f := &r.faults[i]
		on, err := f.On(factsOf(r.nodes))
		if err != nil {
			return err
		}
		for _, n := range on {
			if err := files.MkdirAll(path.Join(r.note, undoOf(f, n).String()), 0o755); err != nil {
				return fmt.Errorf("faults: note what is to be undone: %w", err)
			}
		}
	}
	return nil
}

func undoOf(f *config.Fault, n traces.Node) undo {
	if f.What == config.FaultSlow {
		return undo{config.FaultSlow, n}
	}
	return undo{config.FaultUp, n}
}

// happen has one fault after the other happen, all nodes of one at once.
func (r *faultRun) happen(ctx context.Context) error {
	began, ok := r.firstSubmission(ctx)
	for i := 0; ok && i < len(r.faults); i++ {
		f := &r.faults[i]
		on, err := f.On(factsOf(r.nodes))
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the jobs have ended
		case <-time.After(time.Until(began.Add(time.Duration(f.At)))):
		}
		var all errgroup.Group
		for _, n := range on {
			if _, known := r.changed[undoOf(f, n)]; !known {
				r.changed[undoOf(f, n)] = 0
			}
			r.session.Add(&traces.Note{T: traces.Time(time.Since(r.session.Origin())), Text: fmt.Sprintf("fault: node %s %s", n, f.What)})
			all.Go(func() error { return carryOutFault(ctx, r.log, r.cluster.Config.Faults.For(f.What, n, f.Speed)) })
		}
		if err := all.Wait(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, n := range r.nodes {
			if f.What == config.FaultDown && slices.Contains(on, traces.Node(n.Host)) {
				r.changed[undo{config.FaultUp, traces.Node(n.Host)}] = n.LastHealthMs
			}
		}
	}
	return nil
}

// firstSubmission waits for it.
func (r *faultRun) firstSubmission(ctx context.Context) (time.Time, bool) {
	const every = 50 * time.Millisecond
	for {
		if len(r.session.Jobs()) > 0 {
			return time.Now(), true
		}
		select {
		case <-ctx.Done():
			return time.Time{}, false
		case <-time.After(every):
		}
	}
}

// end brings back the nodes that were changed, also after ctx has ended, and
// waits until they are there, unless it has. To end it again does nothing.
func (r *faultRun) end(ctx context.Context) error {
	if r == nil || r.log == nil {
		return nil
	}
	defer func() { r.log.Close(); r.log = nil }()
	r.stop()
	<-r.ended
	if r.failed != nil {
		r.failed = fmt.Errorf("faults: %w", r.failed)
	}
	if err := bringBack(ctx, r.cluster, r.log, r.changed); err != nil {
		return errors.Join(r.failed, err) // the note stays
	}
	return errors.Join(r.failed, removeNote(r.cluster, r.note))
}

func removeNote(c *clients.Clients, note string) error {
	files, err := c.HDFS.Files()
	if err == nil {
		err = files.RemoveAll(note)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("faults: remove the note of what is undone: %w", err)
	}
	return nil
}

// bringBack undoes what was done to nodes, and waits until they run, unless ctx has
// ended. Those that went down have said how they are since the time that list has.
func bringBack(ctx context.Context, c *clients.Clients, log *os.File, list map[undo]int64) error {
	uncut := context.WithoutCancel(ctx)
	var all errgroup.Group
	for u := range list {
		all.Go(func() error {
			limited, cancel := context.WithTimeout(uncut, commandLimit)
			defer cancel()
			if err := carryOutFault(limited, log, c.Config.Faults.For(u.what, u.node, 1)); err != nil {
				return fmt.Errorf("bring node %s back: %w", u.node, err)
			}
			return nil
		})
	}
	err := all.Wait()
	if err != nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if ctx.Err() != nil { // the trial took too long; the next wants whole nodes
		ctx = uncut
	}
	ctx, cancel := context.WithTimeout(ctx, backLimit)
	defer cancel()
	for {
		nodes, err := c.RM.Nodes(ctx, "RUNNING")
		missing := maps.Clone(list)
		maps.DeleteFunc(missing, func(u undo, before int64) bool {
			return slices.ContainsFunc(nodes, func(n yarnclient.Node) bool { return n.Host == string(u.node) && n.LastHealthMs != before })
		})
		if err == nil && len(missing) == 0 {
			var dead []hdfs.DataNode
			if dead, err = deadAmong(ctx, c, list); err == nil && len(dead) == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, fmt.Errorf("told to come back, and not all running after %v: %v; see the logs of their NodeManagers and DataNodes", backLimit, slices.Collect(maps.Keys(list))))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// deadAmong are the DataNodes on nodes of a list that the NameNode misses; none
// where it tells only superusers.
func deadAmong(ctx context.Context, c *clients.Clients, list map[undo]int64) ([]hdfs.DataNode, error) {
	all, err := c.HDFS.DataNodes(ctx)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(d hdfs.DataNode) bool {
		_, down := list[undo{config.FaultUp, traces.Node(d.Host)}]
		return !down || d.Live
	}), err
}

// carryOutFault runs a cluster's command, with what it prints in the log.
func carryOutFault(ctx context.Context, log *os.File, command []string) error {
	if len(command) == 0 {
		return errors.New("the cluster's file has no command for it, or the node's name is none that a command may have")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is not for what brings nodes back
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if log != nil {
		_, werr := fmt.Fprintf(log, "%s %q\n%s", time.Now().Format(time.RFC3339Nano), command, out)
		err = errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, oneLine(string(out)))
	}
	return nil
}

// undoLeftFaults brings back the nodes that runs on this host left when they were
// killed.
func undoLeftFaults(ctx context.Context, c *clients.Clients, tell func(string)) error {
	notes, err := c.HDFS.Names(ctx, faultsRoot)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for faults that a run has left: %w", err)
	}
	for _, name := range notes {
		if !makerDied(faultsPrefix, name) {
			tell("another run has faults happen on the cluster: " + name)
			continue
		}
		note := path.Join(faultsRoot, name)
		names, err := c.HDFS.Names(ctx, note)
		if err != nil {
			return fmt.Errorf("look for faults that a run has left: %w", err)
		}
		list := map[undo]int64{}
		for _, text := range names {
			what, node, _ := strings.Cut(text, "-")
			list[undo{what, traces.Node(node)}] = 0
		}
		tell(fmt.Sprintf("bringing back %s, which a run that died left", strings.Join(names, ", ")))
		if err = bringBack(ctx, c, nil, list); err == nil {
			err = removeNote(c, note)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
