package paper

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"heddle/harness/doc"
	"heddle/traces/outfile"
)

// WritePictures draws figures as SVG files in a folder, which is made if it does
// not exist. Figures whose columns have different units are left out.
func WritePictures(dir string, figures []*Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for pictures: %w", err)
	}
	for _, f := range figures {
		c := f.Chart()
		if c == nil {
			continue
		}
		if err := outfile.Replace(filepath.Join(dir, f.ID+".svg"), func(to *os.File) error { return doc.WriteSVG(to, c) }); err != nil {
			return fmt.Errorf("draw %s: %w", f.ID, err)
		}
	}
	return nil
}

// WriteRows writes the results of each seed to a file: as Parquet, CSV or JSON,
// by the end of the file's name.
func WriteRows(path string, rows []SeedRow) error {
	write, ok := map[string]func(io.Writer, []SeedRow) error{".parquet": rowsParquet, ".csv": rowsCSV, ".json": rowsJSON}[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("write results of each seed to %s: want a name that ends in .parquet, .csv or .json", path)
	}
	return outfile.Create(path, func(f *os.File) error { return write(f, rows) })
}

func rowsParquet(out io.Writer, rows []SeedRow) error {
	w := parquet.NewGenericWriter[SeedRow](out)
	if _, err := w.Write(rows); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return w.Close()
}

func rowsJSON(out io.Writer, rows []SeedRow) error { return json.NewEncoder(out).Encode(rows) }

func rowsCSV(out io.Writer, rows []SeedRow) error {
	w := csv.NewWriter(out)
	schema := parquet.SchemaOf(SeedRow{})
	var head []string
	for _, f := range schema.Fields() {
		head = append(head, f.Name())
	}
	_ = w.Write(head) // a failed write is not checked here, since w.Error returns it at the end
	for i := range rows {
		var line []string
		for _, v := range schema.Deconstruct(nil, &rows[i]) {
			line = append(line, v.String())
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}
