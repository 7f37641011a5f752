package require

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteAnsible writes the requirements as a file of variables for the Ansible
// role hadoop: hadoop_requirements, a list of one property each, and
// hadoop_requirement_labels. What depends on the cluster is left to variables
// of the role: hadoop_queue, the path of a queue right under the root, and
// hadoop_cache_folder, the mount point of a DataNode's cache.
func (r Requirements) WriteAnsible(out io.Writer) error {
	var b strings.Builder
	b.WriteString(`---
# What heddle needs of a Hadoop cluster: settings and node labels. The lab's files have
# the same settings; heddle doctor --requirements says why, and looks for them. Do not
# edit this file; a property with LABEL is one for each label but that of parked nodes.
# From the top of the source tree, make it anew:
#
#   go test ./harness/require -run TestAnsible -update
hadoop_requirements:
`)
	labels := append([]string{r.Labels.Masters}, r.Labels.Jobs...)
	for _, s := range r.Settings {
		if s.Value == "BYTES" {
			continue // the role gives DataNodes a tmpfs, which is the other way to have a cache
		}
		value := strings.NewReplacer("LABELS", strings.Join(labels, ","), "FOLDER", "{{ hadoop_cache_folder }}").Replace(s.Value)
		for _, name := range s.names() {
			fmt.Fprintf(&b, "  - property: %q\n    value: \"%s\"\n    file: %s\n    feature: %s\n",
				name, strings.Join(lines(strings.Split(value, ","), ","), ",\\\n      "), s.File, s.Feature)
		}
	}
	fmt.Fprintf(&b, "hadoop_requirement_labels:\n  parking: %s\n  masters: %s\n  jobs: [\n    %s]\n",
		r.Labels.Parking, r.Labels.Masters, strings.Join(lines(r.Labels.Jobs, ", "), ",\n    "))
	_, err := io.WriteString(out, b.String())
	return err
}

// The method names returns the names of a setting's properties in Ansible's
// variables: one, or two if it is for each label.
func (s Setting) names() []string {
	const queue = "{{ hadoop_queue }}"
	if !strings.Contains(s.Property, "LABEL.") {
		return []string{s.In(queue, "")}
	}
	return []string{s.In("root", "LABEL"), s.In(queue, "LABEL")}
}

// lines joins the items of a list to lines that are not too long for ansible-lint.
// There is a comma between lines too.
func lines(items []string, comma string) []string {
	var all []string
	for part := range slices.Chunk(items, 16) {
		all = append(all, strings.Join(part, comma))
	}
	return all
}
