package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"heddle/hibench"
)

// The method run checks what is needed to submit jobs: a Hadoop client
// installation on this machine.
func (e *examiner) run(ctx context.Context) []Check {
	return append([]Check{e.client(), e.clientVersion(ctx), e.hibench(), e.leftOver(ctx)}, e.fileSystem(ctx)...)
}

func (e *examiner) client() Check {
	c := check("client", true, "submitting workloads: bin/hadoop, its configuration and the examples jar")
	h := e.Config.Hadoop
	if h.Home == "" || h.Conf == "" {
		return c.bad("no hadoop.home and hadoop.conf in the cluster file").
			next("unpack the cluster's Hadoop version here and name its folder and the cluster's configuration folder")
	}
	if err := e.workload(""); err != nil {
		return c.bad("%s", strings.TrimPrefix(err.Error(), "hibench: ")).next("correct hadoop.home and hadoop.conf in the cluster file")
	}
	return c.ok("%s with configuration %s", h.Home, h.Conf)
}

// The method workload checks that this machine has everything that heddle's
// workloads need, with or without a HiBench checkout. Package hibench does the
// check.
func (e *examiner) workload(checkout string) error {
	_, err := hibench.New(hibench.Env{
		HadoopHome: e.Config.Hadoop.Home, ConfDir: e.Config.Hadoop.Conf, User: e.Config.User,
		DataDir: "/heddle", RunDir: os.TempDir(), Checkout: checkout,
	}, hibench.Spec{Workload: "wordcount", Profile: "tiny"})
	return err
}

// clientTimeout is how long a Hadoop command may take. It is long enough for a
// JVM to start on a busy machine.
const clientTimeout = time.Minute

func (e *examiner) clientVersion(ctx context.Context) Check {
	c := check("clientVersion", true, "a client that speaks the cluster's version")
	h := e.Config.Hadoop
	program := filepath.Join(h.Home, "bin", "hadoop")
	if _, err := os.Stat(program); h.Home == "" || err != nil {
		return c.unknown("no client to ask")
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--config", h.Conf, "version")
	cmd.Env = hibench.ClientVars(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return c.bad("%s version: %s", program, exitText(err)).next("run it by hand; it usually lacks Java: set JAVA_HOME")
	}
	first, _, _ := bytes.Cut(out, []byte("\n"))
	version, ok := strings.CutPrefix(strings.TrimSpace(string(first)), "Hadoop ")
	switch {
	case !ok:
		return c.bad("%s version prints %.80q, no Hadoop version", program, first).next("name a Hadoop installation as hadoop.home")
	case e.info.err != nil:
		return c.ok("Hadoop %s", version)
	case version != e.info.value.Version:
		return c.warn("the client is Hadoop %s, the ResourceManager %s", version, e.info.value.Version).
			next("use a client of the cluster's version; jobs bring the client's jars")
	}
	return c.ok("Hadoop %s, as the ResourceManager", version)
}

func exitText(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return fmt.Sprintf("%v: %.200s", err, lines[len(lines)-1])
	}
	return err.Error()
}

func (e *examiner) hibench() Check {
	checkout := e.Config.HiBench
	c := check("hibench", checkout != "", "workloads through HiBench's own scripts")
	if checkout == "" {
		return c.ok("no checkout; the same jobs are run from Hadoop's examples jar")
	}
	if err := e.workload(checkout); err != nil {
		return c.bad("%s", strings.TrimPrefix(err.Error(), "hibench: ")).
			next("correct hibench in the cluster file; without it the same jobs run from Hadoop's examples jar")
	}
	return c.ok("%s", checkout)
}
