package synthetic

import "testing"

// mustDo ends the test if there is an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
