package paper

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"heddle/harness/doc"
	"heddle/harness/measure"
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

// columns returns the rows as values of a struct type that has the fields of SeedRow,
// and in a group one field for each metric of the list, and the schema of that type.
func columns(rows []SeedRow) (*parquet.Schema, []any) {
	var fields, metrics []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeFor[SeedRow]()) {
		if f.Name != "Metrics" {
			fields = append(fields, f)
		}
	}
	list := measure.Metrics()
	for _, m := range list {
		metrics = append(metrics, reflect.StructField{
			Name: strings.ToUpper(m.Name[:1]) + m.Name[1:], Type: reflect.TypeFor[*float64](), Tag: reflect.StructTag(`parquet:"` + m.Name + `,optional"`),
		})
	}
	of := reflect.StructOf(append(fields, reflect.StructField{Name: "Metrics", Type: reflect.StructOf(metrics), Tag: `parquet:"metrics"`}))
	values := make([]any, len(rows))
	for i := range rows {
		row := reflect.New(of)
		for k, f := range fields {
			row.Elem().Field(k).Set(reflect.ValueOf(rows[i]).FieldByIndex(f.Index))
		}
		for k, m := range list {
			if x, ok := rows[i].Metrics[m.Name]; ok {
				row.Elem().Field(len(fields)).Field(k).Set(reflect.ValueOf(&x))
			}
		}
		values[i] = row.Interface()
	}
	return parquet.SchemaOf(reflect.New(of).Interface()), values
}

func rowsParquet(out io.Writer, rows []SeedRow) error {
	schema, values := columns(rows)
	w := parquet.NewGenericWriter[any](out, schema)
	if _, err := w.Write(values); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return w.Close()
}

func rowsJSON(out io.Writer, rows []SeedRow) error { return json.NewEncoder(out).Encode(rows) }

func rowsCSV(out io.Writer, rows []SeedRow) error {
	w := csv.NewWriter(out)
	schema, values := columns(rows)
	var head []string
	for _, path := range schema.Columns() {
		head = append(head, strings.Join(path, "."))
	}
	_ = w.Write(head) // a failed write is not checked here, since w.Error returns it at the end
	for _, row := range values {
		var line []string
		for _, v := range schema.Deconstruct(nil, row) {
			text := ""
			if !v.IsNull() {
				text = v.String()
			}
			line = append(line, text)
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}
