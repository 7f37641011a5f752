//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
)

// TestClusterFile: heddle reads the cluster file that the role harness makes of an
// inventory, and the file is as expected: of a plain cluster, of one with Hadoop's own
// settings and unlike nodes, and of a secured one.
func TestClusterFile(t *testing.T) {
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Skipf("%v: install what ansible/tests/requirements.txt lists", err)
	}
	inventories, err := filepath.Glob("testdata/clusters/*.yml")
	if err != nil || len(inventories) == 0 {
		t.Fatal("no inventories", err)
	}
	for _, inventory := range inventories {
		t.Run(filepath.Base(inventory), func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made.yaml")
			play := filepath.Join(t.TempDir(), "play.yml")
			role := must(filepath.Abs("../roles/harness"))
			write(t, play, `
- hosts: harness
  connection: local
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}", harness_cluster_file: `+made+`}
  tasks: [{ansible.builtin.include_role: {name: `+role+`, tasks_from: cluster}}]
`)
			cmd := exec.CommandContext(t.Context(), "ansible-playbook", "-i", inventory, play)
			cmd.Env = append(slices.Clone(os.Environ()), "ANSIBLE_LOCAL_TEMP="+t.TempDir(), "ANSIBLE_NOCOLOR=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := read(t, made)
			if d := cmp.Diff(read(t, strings.TrimSuffix(inventory, ".yml")+".txt"), text); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if _, err := config.ParseCluster("made.yaml", []byte(text)); err != nil {
				t.Error(err)
			}
		})
	}
}
