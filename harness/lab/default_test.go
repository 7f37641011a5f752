package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
)

// What is simulated if no cluster is named is a lab started with no flags.
func TestDefaultCluster(t *testing.T) {
	c, rates := config.DefaultCluster(), Default().Rates()
	rates.HostCores = c.Rates.HostCores // this is of the machine, and the default is not
	if diff := cmp.Diff(Default().Machines(), c.Machines); diff != "" {
		t.Errorf("machines of a lab and of default.yaml (-lab +default):\n%s", diff)
	}
	if diff := cmp.Diff(rates, c.Rates); diff != "" {
		t.Errorf("rates of a lab and of default.yaml (-lab +default):\n%s", diff)
	}
}
