package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"heddle/traces/errtest"
)

type row struct {
	name string
	n    int64
	x    float64
	ok   bool
	seed uint64
}

var columns = []Column[row]{
	Text("z_name", "name of it", func(r *row) string { return r.name }),
	Whole("n", "how many", func(r *row) int64 { return r.n }),
	Number("a_s", "time in s", func(r *row) float64 { return r.x }),
	Flag("ok", "whether it is", func(r *row) bool { return r.ok }),
	Seed("seed", "seed of it", func(r *row) uint64 { return r.seed }),
}

func fill(list ...row) Rows[row] {
	return func(add func(*row) error) error {
		for i := range list {
			if err := add(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

var rows = fill(row{"a,\"b\"\n", 3, 0.1, true, math.MaxUint64}, row{"", -1, math.NaN(), false, 0})

func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	errtest.None(t, Create(path, columns, rows))
	f := errtest.Must(os.Open(path))
	defer f.Close()
	info, _ := f.Stat()
	file := errtest.Must(parquet.OpenFile(f, info.Size()))
	var names []string
	for _, field := range file.Schema().Fields() {
		names = append(names, field.Name())
	}
	if d := cmp.Diff([]string{"z_name", "n", "a_s", "ok", "seed"}, names); d != "" {
		t.Errorf("the columns' order (-want +got):\n%s", d)
	}
	if text, _ := file.Lookup("a_s"); text != "time in s" {
		t.Errorf("the metadata says of a_s %q", text)
	}
	var attrs map[string]string
	text, _ := file.Lookup("PANDAS_ATTRS")
	if err := json.Unmarshal([]byte(text), &attrs); err != nil || attrs["n"] != "how many" {
		t.Errorf("what pandas is told: %s, %v", text, err)
	}
	type read struct {
		Name string   `parquet:"z_name"`
		N    *int64   `parquet:"n"`
		X    *float64 `parquet:"a_s"`
		OK   bool     `parquet:"ok"`
		Seed uint64   `parquet:"seed"`
	}
	got := errtest.Must(parquet.ReadFile[read](path))
	n, x := int64(3), 0.1
	if d := cmp.Diff([]read{{"a,\"b\"\n", &n, &x, true, math.MaxUint64}, {}}, got); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}

func TestCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	errtest.None(t, Create(path, columns, rows))
	got := errtest.Must(os.ReadFile(path))
	want := "z_name,n,a_s,ok,seed\n\"a,\"\"b\"\"\n\",3,0.1,true,18446744073709551615\n,,,false,0\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestFormulasInCSV: a spreadsheet takes no name for a formula, and numbers stay numbers.
func TestFormulasInCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	errtest.None(t, Create(path, columns, fill(row{"=HYPERLINK(\"http://x/\")", 1, -2.5, true, 4}, row{"＝1", 1, 2, true, 4})))
	got, err := os.ReadFile(path)
	const want = "z_name,n,a_s,ok,seed\n\"'=HYPERLINK(\"\"http://x/\"\")\",1,-2.5,true,4\n'＝1,1,2,true,4\n"
	if err != nil || string(got) != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
}

func TestLargeGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	const many = 2*groupRows + 1
	err := Create(path, columns[:2], func(add func(*row) error) error {
		for i := range many {
			if err := add(&row{name: fmt.Sprint("name ", i), n: int64(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := parquet.ReadFile[struct {
		Name string `parquet:"z_name"`
		N    *int64 `parquet:"n"`
	}](path)
	if err != nil || len(got) != many {
		t.Fatalf("%d rows, %v; want %d", len(got), err, many)
	}
	for i, r := range got {
		if r.Name != fmt.Sprint("name ", i) || *r.N != int64(i) {
			t.Fatalf("row %d is %q, %d", i, r.Name, *r.N)
		}
	}
}

func TestNotWritten(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	for _, name := range []string{"t.parquet", "t.csv"} {
		path := filepath.Join(dir, name)
		if err := Create(path, columns, func(add func(*row) error) error { return errors.Join(add(&row{}), broken) }); !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the error of the rows", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
	for _, name := range []string{"t", "t.json", "csv", "t.parquet.gz"} {
		if err := Create(filepath.Join(dir, name), columns, rows); !errors.Is(err, ErrName) {
			t.Errorf("%s: %v, want ErrName", name, err)
		}
	}
	path := filepath.Join(dir, "there.csv")
	errtest.None(t, os.WriteFile(path, []byte("mine"), 0o644))
	errtest.Is(t, Create(path, columns, rows), os.ErrExist)
}
