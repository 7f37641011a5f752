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
	"heddle/harness/internal/poll"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/yarnclient"
)

// faultsRoot is an HDFS folder that records which nodes must be brought back to
// normal. It has one folder for each trial that injects faults, with an empty
// folder "up-NODE" or "slow-NODE" for each such node. They are made before the
// first fault. So if a run is killed, the next run knows what to undo. These
// are folders and not files, because HDFS can make folders even while DataNodes
// are down.
const (
	faultsRoot   = dataRoot + "/faults"
	faultsPrefix = "faults"
)

// Time limits for bringing a node back to normal: first for the cluster's
// command, then until the node's daemons run.
const (
	commandLimit = 20 * time.Second
	backLimit    = 2 * time.Minute
)

// speculating returns a workload whose jobs follow the experiment's rule for
// speculative attempts. Settings of the workload itself override this rule.
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

// faultRun injects the faults of one trial on a cluster. It is nil for a trial
// without faults.
type faultRun struct {
	cluster *clients.Clients
	session *capture.Session
	faults  config.Faults
	nodes   []yarnclient.Node
	undoDir string         // HDFS folder whose subfolders name the nodes to bring back to normal
	changed map[undo]int64 // changed nodes to bring back to normal; the value is the time of the node's last health report before it went down
	log     *os.File
	stop    func()
	ended   chan struct{} // closed when all faults of the trial were injected or injecting them has stopped
	failed  error         // why a fault could not be carried out; set before the channel ended is closed
}

// undo is one change to a node that must be undone. The field what is
// config.FaultUp for a node that is down and must be started, or
// config.FaultSlow for a slow node that must get its normal speed.
type undo struct {
	what string
	node traces.Node
}

func (u undo) String() string { return u.what + "-" + string(u.node) }

// beginFaults starts to inject the trial's faults in the background. Their
// times count from the trial's first submission of a job. If a fault cannot be
// carried out, the returned context ends, which stops the trial.
func (t *trialRun) beginFaults(ctx context.Context, session *capture.Session) (context.Context, *faultRun, error) {
	e := t.options.Experiment
	if len(e.Faults) == 0 {
		return ctx, nil, nil
	}
	r := &faultRun{
		cluster: t.cluster, session: session, faults: slices.Clone(e.Faults), undoDir: path.Join(faultsRoot, ownName(faultsPrefix)),
		changed: map[undo]int64{}, ended: make(chan struct{}),
	}
	slices.SortStableFunc(r.faults, func(a, b config.Fault) int { return cmp.Compare(a.At, b.At) })
	var err error
	if r.nodes, err = t.cluster.RM.Nodes(ctx, "RUNNING"); err != nil {
		return ctx, nil, fmt.Errorf("faults: %w", err)
	}
	if err := r.recordUndo(ctx); err != nil {
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

// recordUndo records in HDFS which nodes must be brought back to normal, for
// the case that this process is killed. It is called before the first fault.
func (r *faultRun) recordUndo(ctx context.Context) error {
	for i := range r.faults {
		f := &r.faults[i]
		on, err := f.On(factsOf(r.nodes))
		if err != nil {
			return err
		}
		for _, n := range on {
			if err := r.cluster.HDFS.Mkdir(ctx, path.Join(r.undoDir, undoOf(f, n).String()), 0o755); err != nil {
				return fmt.Errorf("faults: record what is to be undone: %w", err)
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

// happen carries out the trial's faults one after the other, by their times. A
// fault affects all its nodes at the same time.
func (r *faultRun) happen(ctx context.Context) error {
	if poll.Until(ctx, 50*time.Millisecond, func() (bool, error) { return len(r.session.Jobs()) > 0, nil }) != nil {
		return nil // the jobs have ended before the first one was submitted
	}
	began := time.Now()
	for i := range r.faults {
		f := &r.faults[i]
		on, err := f.On(factsOf(r.nodes))
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the jobs have ended, so inject no more faults
		case <-time.After(time.Until(began.Add(time.Duration(f.At)))):
		}
		var all errgroup.Group
		for _, n := range on {
			if _, known := r.changed[undoOf(f, n)]; !known {
				r.changed[undoOf(f, n)] = 0
			}
			at := traces.Time(time.Since(r.session.Origin()))
			r.session.Add(&traces.Note{T: at, Text: fmt.Sprintf("fault: node %s %s", n, f.What)})
			if f.What == config.FaultSlow {
				r.session.Add(&traces.NodeSpeed{T: at, Node: n, Speed: f.Speed})
			}
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

// The function end brings back to normal all nodes that the faults changed,
// even if ctx has ended. Unless ctx was cancelled, it waits until the nodes
// run. A second call does nothing.
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
		return errors.Join(r.failed, err) // some nodes are not back to normal, so keep the record in HDFS for the next run
	}
	return errors.Join(r.failed, removeUndo(ctx, r.cluster, r.undoDir))
}

func removeUndo(ctx context.Context, c *clients.Clients, folder string) error {
	if err := c.HDFS.RemoveAll(ctx, folder); err != nil {
		return fmt.Errorf("faults: remove the record of what was undone: %w", err)
	}
	return nil
}

// bringBack undoes the changes to nodes in list. Unless ctx was cancelled, it
// waits until the nodes run again. The values in list are the times of the last
// health report before a node went down: a node runs again when it has sent a
// newer report.
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
	if ctx.Err() != nil { // even after a timeout of the trial, wait until the nodes are back, since the next trial needs them
		ctx = uncut
	}
	ctx, cancel := context.WithTimeout(ctx, backLimit)
	defer cancel()
	waited := poll.Until(ctx, 200*time.Millisecond, func() (bool, error) {
		var nodes []yarnclient.Node
		nodes, err = c.RM.Nodes(ctx, "RUNNING")
		missing := maps.Clone(list)
		maps.DeleteFunc(missing, func(u undo, before int64) bool {
			return slices.ContainsFunc(nodes, func(n yarnclient.Node) bool { return n.Host == string(u.node) && n.LastHealthMs != before })
		})
		if err != nil || len(missing) > 0 {
			return false, nil
		}
		var dead []hdfs.DataNode
		dead, err = deadAmong(ctx, c, list)
		return err == nil && len(dead) == 0, nil
	})
	if waited != nil {
		return errors.Join(err, fmt.Errorf("not all of these nodes run again after %v: %v; see the logs of their NodeManagers and DataNodes", backLimit, slices.Collect(maps.Keys(list))))
	}
	return nil
}

// deadAmong returns those of the given nodes whose DataNode the NameNode counts
// as dead. It returns none if the NameNode answers this only to superusers.
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

// carryOutFault runs the cluster file's command for a fault on one node and
// writes the command's output to log.
func carryOutFault(ctx context.Context, log *os.File, command []string) error {
	if len(command) == 0 {
		return errors.New("the cluster file has no command for it, or the node's name has characters that a command may not have")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a process group of its own, so that ctrl-C does not stop a command that brings nodes back
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

// undoLeftFaults brings back to normal the nodes on which killed runs of this
// host left faults.
func undoLeftFaults(ctx context.Context, c *clients.Clients, tell func(string)) error {
	notes, err := c.HDFS.Names(ctx, faultsRoot)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for faults of killed runs: %w", err)
	}
	for _, name := range notes {
		if !makerDied(faultsPrefix, name) {
			tell("another run injects faults on the cluster: " + name + "; if that has ended, bring its nodes back and remove hdfs " + path.Join(faultsRoot, name))
			continue
		}
		folder := path.Join(faultsRoot, name)
		names, err := c.HDFS.Names(ctx, folder)
		if err != nil {
			return fmt.Errorf("look for faults of killed runs: %w", err)
		}
		list := map[undo]int64{}
		for _, text := range names {
			what, node, _ := strings.Cut(text, "-")
			list[undo{what, traces.Node(node)}] = 0
		}
		tell(fmt.Sprintf("bringing nodes back after a killed run: %s", strings.Join(names, ", ")))
		if err = bringBack(ctx, c, nil, list); err == nil {
			err = removeUndo(ctx, c, folder)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
