package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"golang.org/x/sys/unix"

	"heddle/harness/config"
	"heddle/harness/internal/golden"
)

// describe is all that a user sees of an inventory: notes and the file, or the
// error.
func describe(data []byte) string {
	made, err := Parse("/etc/heddle/cluster.yaml", data)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	file, err := made.File()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var text strings.Builder
	for _, note := range made.Notes {
		text.WriteString("note: " + note + "\n")
	}
	text.Write(file)
	return text.String()
}

// TestGolden: NAME.json is what ansible-inventory prints, NAME.txt what becomes
// of it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inventories: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, strings.TrimSuffix(file, ".json")+".txt", describe(data))
		})
	}
}

// TestTooManyHosts: a list that is too long for a cluster is refused before a file is
// made of it, which would take a minute.
func TestTooManyHosts(t *testing.T) {
	var list []string
	for i := range 200_000 {
		list = append(list, fmt.Sprintf("w%d", i))
	}
	group := func(hosts ...string) map[string]any { return map[string]any{"hosts": hosts} }
	data, err := json.Marshal(map[string]any{
		"_meta": map[string]any{"hostvars": map[string]any{}}, "workers": group(list...),
		"namenode": group("m"), "resourcemanager": group("m"), "historyserver": group("m"), "harness": group("m"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(data), "error: the groups of the cluster have 200003 hosts; want at most 20000\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// TestFileIsRead: the file that is written is read as the same cluster.
func TestFileIsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/blue.json")
	if err != nil {
		t.Fatal(err)
	}
	made, err := Parse("blue.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.File()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "blue.yaml")
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := config.LoadCluster(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(made.Cluster, read); d != "" {
		t.Errorf("(-made +read):\n%s", d)
	}
}

// TestAnsible: ansible-inventory itself says of testdata/blue what blue.json says,
// and mistakes in inventories are told in words that say what to do.
func TestAnsible(t *testing.T) {
	if _, err := exec.LookPath("ansible-inventory"); err != nil {
		t.Skip("needs ansible-inventory, which ansible-core brings")
	}
	data, err := List(t.Context(), "testdata/blue")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/blue.txt", describe(data))

	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("locked/group_vars/all.yml", "$ANSIBLE_VAULT;1.1;AES256\n6162\n")
	for _, c := range []struct{ source, want string }{
		{write("bad.yml", "all: ["), "YAML parsing failed"},
		{filepath.Join(dir, "none.yml"), "none.yml"},
		{filepath.Dir(write("locked/hosts.ini", "[workers]\nw1\n")), "set ANSIBLE_VAULT_PASSWORD_FILE"},
	} {
		if _, err := List(t.Context(), c.source); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.source, err, c.want)
		}
	}
	program := write("dynamic", "#!/bin/sh\ncat '"+absolute(t, "testdata/minimal.json")+"'\n")
	if data, err = List(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/minimal.txt", describe(data))
}

// TestNoAnsible: without ansible-inventory, the error says what to do.
func TestNoAnsible(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := List(t.Context(), "hosts.yml")
	if !errors.Is(err, ErrNoAnsible) || !strings.Contains(err.Error(), "ansible-inventory -i hosts.yml --list | heddle cluster from-inventory -") {
		t.Errorf("error %v, want one that says how to go on", err)
	}
}

// TestInterrupted: a dynamic inventory that takes long is not waited for when the
// user has had enough.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skipf("needs a file system with pipes: %v", err)
	}
	script := "#!/bin/sh\nread started <'" + filepath.Join(dir, "fifo") + "'\nexec tail -f /dev/null\n"
	if err := os.WriteFile(filepath.Join(dir, "ansible-inventory"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		// This waits until the program runs.
		_ = os.WriteFile(filepath.Join(dir, "fifo"), []byte("go\n"), 0)
		cancel(errors.New("had enough"))
	}()
	if _, err := List(ctx, "slow"); err == nil || !strings.Contains(err.Error(), "had enough") {
		t.Errorf("error %v, want had enough", err)
	}
}

// TestCollection: the collection's roles have the same defaults.
func TestCollection(t *testing.T) {
	for name, want := range map[string]any{
		"hadoop/hadoop_home": defaultHome, "hadoop/hadoop_conf_dir": defaultConf, "agent/agent_port": defaultAgentPort,
		"hadoop/hadoop_memory_mb": defaultMemoryMB, "hadoop/hadoop_vcores": defaultVCores, "agent/agent_tls": true,
		"hadoop/hadoop_rack": "/default-rack", "hadoop/hadoop_cache_bytes": 0,
		"harness/harness_user": defaultUser, "harness/harness_token_file": defaultTokenFile, "harness/harness_ca_file": defaultCAFile,
	} {
		t.Run(name, func(t *testing.T) {
			role, name, _ := strings.Cut(name, "/")
			data, err := os.ReadFile("../../ansible/roles/" + role + "/defaults/main.yml")
			if errors.Is(err, os.ErrNotExist) {
				t.Skipf("the collection has no role %s", role)
			}
			var defaults map[string]any
			if err == nil {
				err = yaml.Unmarshal(data, &defaults)
			}
			if err != nil {
				t.Fatal(err)
			}
			if defaults[name] != want {
				t.Errorf("%s is %v there, and %v here", name, defaults[name], want)
			}
		})
	}
}

// FuzzParse looks for inventories that panic, make a file that cannot be read, or
// bring what looks like a secret into it.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		made, err := Parse("c.yaml", data)
		if err != nil {
			return
		}
		content, err := made.File()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.ParseCluster("c.yaml", content); err != nil {
			t.Errorf("made without error, but cannot be read: %v\n%s", err, content)
		}
		if strings.Contains(string(content), "ANSIBLE_VAULT") {
			t.Errorf("something encrypted is in the file:\n%s", content)
		}
	})
}

// TestNoSecrets: no variable that is not named in the package's comment gets into
// the file, whatever it is called.
func TestNoSecrets(t *testing.T) {
	data, err := os.ReadFile("testdata/blue.json")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("inventory.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`(?m)^//\t(.*)`).FindAllString(string(source), -1)
	var inv map[string]any
	if err := json.Unmarshal(data, &inv); err != nil {
		t.Fatal(err)
	}
	hosts := inv["_meta"].(map[string]any)["hostvars"].(map[string]any)
	for _, vars := range hosts {
		vars := vars.(map[string]any)
		for _, name := range []string{"agent_token", "ansible_password", "ansible_become_password", "hadoop_password", "harness_token", "token"} {
			vars[name] = "swordfish"
		}
		for name := range vars {
			if !strings.Contains(strings.Join(documented, "\n"), name) && name != "ansible_host" {
				vars[name] = "swordfish"
			}
		}
	}
	if data, err = json.Marshal(inv); err != nil {
		t.Fatal(err)
	}
	if text := describe(data); strings.Contains(text, "swordfish") || strings.HasPrefix(text, "error") {
		t.Errorf("got\n%s\nwant a file without swordfish", text)
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
