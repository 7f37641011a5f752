//go:build linux

package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHadoopProperties: the module changes the values that it is given, and leaves
// every other byte of the file as it is.
func TestHadoopProperties(t *testing.T) {
	python := pythonOfAnsible(t)
	for _, c := range []struct{ name, before, after, says string }{
		{
			"value changes", "<configuration>\n<!-- keep -->\n <property><name>a</name>\n <value>1</value><final>true</final></property>\n</configuration>\n",
			"<configuration>\n<!-- keep -->\n <property><name>a</name>\n <value>2 &lt; 3</value><final>true</final></property>\n</configuration>\n",
			"",
		},
		{
			"property is added", "<?xml version=\"1.0\"?>\n<configuration>\n</configuration>\n",
			"<?xml version=\"1.0\"?>\n<configuration>\n  <property>\n    <name>a</name>\n    <value>2 &lt; 3</value>\n  </property>\n</configuration>\n", "",
		},
		{
			"a comment is no property", "<configuration>\n<!-- <property><name>a</name><value>1</value></property> -->\n</configuration>\n",
			"<configuration>\n<!-- <property><name>a</name><value>1</value></property> -->\n  <property>\n    <name>a</name>\n    <value>2 &lt; 3</value>\n  </property>\n</configuration>\n", "",
		},
		{
			"a property twice", "<configuration><property><name>a</name><value>1</value></property><property><value>9</value><name> a </name></property></configuration>",
			"<configuration><property><name>a</name><value>2 &lt; 3</value></property><property><value>2 &lt; 3</value><name> a </name></property></configuration>", "",
		},
		{
			"no value", "<configuration><property><name>a</name></property><property><name>ab</name><value/></property></configuration>",
			"<configuration><property><name>a</name><value>2 &lt; 3</value></property><property><name>ab</name><value/></property></configuration>",
			"",
		},
		{
			"already so", "<configuration><property><name>a</name><value>2 &lt; 3</value></property></configuration>",
			"<configuration><property><name>a</name><value>2 &lt; 3</value></property></configuration>", "",
		},
		{
			"carriage returns", "<configuration>\r\n<property><name>a</name><value>1</value></property>\r\n</configuration>\r\n",
			"<configuration>\r\n<property><name>a</name><value>2 &lt; 3</value></property>\r\n</configuration>\r\n", "",
		},
		{"no XML", "a=1\n", "a=1\n", "no XML"},
		{"other XML", "<hosts/>\n", "<hosts/>\n", "want configuration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "yarn-site.xml")
			write(t, file, c.before)
			for _, check := range []bool{true, false} {
				was := read(t, file)
				result := runModule(t, python, map[string]any{
					"path": file, "properties": map[string]any{"a": "2 < 3"}, "_ansible_check_mode": check,
					"_ansible_diff": true,
				})
				if c.says != "" {
					if message, _ := result["msg"].(string); result["failed"] != true || !strings.Contains(message, c.says) ||
						!strings.Contains(message, file) {
						t.Errorf("result %v, want a failure that says %q and names the file", result, c.says)
					}
				} else if result["changed"] != (was != c.after) {
					t.Errorf("changed is %v, with check mode %v and a file that was\n%s", result["changed"], check, was)
				}
				want := c.after
				if check {
					want = c.before
				}
				if d := cmp.Diff(want, read(t, file)); d != "" {
					t.Errorf("with check mode %v (-want +got):\n%s", check, d)
				}
			}
		})
	}
}

// pythonOfAnsible returns the Python that runs ansible, which has its libraries.
func pythonOfAnsible(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skipf("%v: install what ansible/tests/requirements.txt lists", err)
	}
	python := must(filepath.EvalSymlinks(filepath.Dir(program)))
	return filepath.Join(python, "python3")
}

func runModule(t *testing.T, python string, args map[string]any) map[string]any {
	t.Helper()
	args["_ansible_remote_tmp"] = t.TempDir()
	input, err := json.Marshal(map[string]any{"ANSIBLE_MODULE_ARGS": args})
	mustDo(t, err)
	cmd := exec.CommandContext(t.Context(), python, "../plugins/modules/hadoop_properties.py")
	cmd.Stdin = strings.NewReader(string(input))
	out, err := cmd.Output() // it ends with 1 where it fails, and prints the result all the same
	var result map[string]any
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		t.Fatalf("run the module: %v, %v\n%s", err, jsonErr, out)
	}
	return result
}

func read(t *testing.T, path string) string {
	t.Helper()
	data := must(os.ReadFile(path))
	return string(data)
}
