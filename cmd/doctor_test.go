package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDoctorExitCodes(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	file := func(name, content string) string {
		path := filepath.Join(state, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const nowhere = "resourceManagers: [http://127.0.0.1:1]\nnameNodes: [127.0.0.1:1]\nhistoryServer: http://127.0.0.1:1\n"
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"no such lab", []string{"--cluster", "none"}, exitCluster},
		{"no such file", []string{"--cluster", "none.yaml"}, exitUsage},
		{"a bad file", []string{"--cluster", file("bad.yaml", "resourceManager: x\n")}, exitUsage},
		{"Kerberos", []string{"--cluster", file("kerberos.yaml", nowhere+"security: kerberos\n")}, exitCluster},
		{"nothing answers", []string{"--cluster", file("down.yaml", nowhere), "--json"}, exitCluster},
		{"an argument", []string{"blue"}, exitUsage},
		{"an unknown flag", []string{"--clustre", "blue"}, exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t.Context(), append([]string{"heddle", "doctor"}, c.args...)); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
