// Package table writes rows to a Parquet or a CSV file. Each column has a sentence
// that says what it is. In a Parquet file the sentences are metadata under the
// columns' names, and what pandas shows as attrs. What is not known is null in
// Parquet, and empty in CSV. In CSV a text that a spreadsheet would take for a formula has a
// quote before it.
package table

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"heddle/traces/outfile"
	"heddle/traces/printable"
)

// Column is one column of a table with rows of the type R.
type Column[R any] struct {
	Name string
	Text string // what the column is, in a sentence without a full stop
	kind reflect.Type
	of   func(*R) parquet.Value
}

// Text makes a column of texts.
func Text[R any](name, text string, of func(*R) string) Column[R] {
	return Column[R]{name, text, reflect.TypeFor[string](), func(r *R) parquet.Value {
		text := of(r)
		return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(text), len(text)))
	}}
}

// Flag makes a column of true and false.
func Flag[R any](name, text string, of func(*R) bool) Column[R] {
	return Column[R]{name, text, reflect.TypeFor[bool](), func(r *R) parquet.Value { return parquet.BooleanValue(of(r)) }}
}

// Seed makes a column of whole numbers of 64 bits without a sign.
func Seed[R any](name, text string, of func(*R) uint64) Column[R] {
	return Column[R]{name, text, reflect.TypeFor[uint64](), func(r *R) parquet.Value { return parquet.Int64Value(int64(of(r))) }}
}

// Whole makes a column of whole numbers. A negative number is not known.
func Whole[R any, N int | int32 | int64](name, text string, of func(*R) N) Column[R] {
	return Column[R]{name, text, reflect.TypeFor[int64](), func(r *R) parquet.Value {
		if n := of(r); n >= 0 {
			return parquet.Int64Value(int64(n))
		}
		return parquet.NullValue()
	}}
}

// Number makes a column of numbers. NaN is not known.
func Number[R any](name, text string, of func(*R) float64) Column[R] {
	return Column[R]{name, text, reflect.TypeFor[float64](), func(r *R) parquet.Value {
		if x := of(r); !math.IsNaN(x) {
			return parquet.DoubleValue(x)
		}
		return parquet.NullValue()
	}}
}

// Texts returns the name of each column, with what it is.
func Texts[R any](columns []Column[R]) (list [][2]string) {
	for _, c := range columns {
		list = append(list, [2]string{c.Name, c.Text})
	}
	return list
}

// Of makes columns of a part of a row into columns of the row.
func Of[R, P any](columns []Column[P], part func(*R) *P) []Column[R] {
	var list []Column[R]
	for _, c := range columns {
		list = append(list, Column[R]{c.Name, c.Text, c.kind, func(r *R) parquet.Value { return c.of(part(r)) }})
	}
	return list
}

// Rows calls the function add with each row of a table. It stops when add returns
// an error, and returns that error.
type Rows[R any] func(add func(*R) error) error

// ErrName is the error for a file whose name does not say how to write it.
var ErrName = errors.New("want a name that ends in .parquet or .csv")

// CheckName returns ErrName unless Create can write a file of this name.
func CheckName(path string) error {
	if end := filepath.Ext(path); end != ".parquet" && end != ".csv" {
		return fmt.Errorf("%q: %w", path, ErrName)
	}
	return nil
}

// Create writes a new file: Parquet or CSV, by the end of its name. A file that
// exists is an error, os.ErrExist.
func Create[R any](path string, columns []Column[R], rows Rows[R]) error {
	if err := CheckName(path); err != nil {
		return err
	}
	write := WriteParquet[R]
	if filepath.Ext(path) == ".csv" {
		write = writeCSV[R]
	}
	return outfile.Create(path, func(f *os.File) error { return write(f, columns, rows) })
}

// groupRows is the greatest number of rows that are kept in memory before they are
// written. It limits the bytes of a table with many columns, too.
const groupRows = 1 << 16

// batchRows is how many rows are handed to the library at once. groupRows is a multiple.
const batchRows = 128

// WriteParquet writes a table as Parquet.
func WriteParquet[R any](out io.Writer, columns []Column[R], rows Rows[R]) error {
	options := []parquet.WriterOption{schemaOf(columns), parquet.Compression(&parquet.Zstd)}
	texts := map[string]string{}
	for _, c := range columns {
		texts[c.Name] = c.Text
		options = append(options, parquet.KeyValueMetadata(c.Name, c.Text))
	}
	attrs, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	// pandas reads its DataFrame.attrs from here.
	w := parquet.NewGenericWriter[any](out, append(options, parquet.KeyValueMetadata("PANDAS_ATTRS", string(attrs)))...)
	values := make([][]parquet.Value, len(columns))
	present := make([]int, len(columns)) // definition level of a value that is not null
	for i, c := range columns {
		if isOptional(c.kind) {
			present[i] = 1
		}
	}
	count := 0 // rows so far
	write := func() error {
		for i, column := range w.ColumnWriters() {
			if _, err := column.WriteRowValues(values[i]); err != nil {
				return err
			}
			values[i] = values[i][:0]
		}
		return nil
	}
	err = rows(func(r *R) error {
		for i := range columns {
			v := columns[i].of(r)
			if present[i] > 0 && !v.IsNull() {
				v = v.Level(0, 1, i)
			}
			values[i] = append(values[i], v)
		}
		count++
		if count%batchRows > 0 {
			return nil
		}
		if err := write(); err != nil || count%groupRows > 0 {
			return err
		}
		return w.Flush()
	})
	if err == nil {
		err = write()
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// isOptional reports whether values of this type may be null.
func isOptional(kind reflect.Type) bool {
	return kind.Kind() == reflect.Int64 || kind.Kind() == reflect.Float64
}

// schemaOf returns the schema of columns in their order. The library keeps an order
// only for the fields of a struct type, so one is made.
func schemaOf[R any](columns []Column[R]) *parquet.Schema {
	var fields []reflect.StructField
	for i, c := range columns {
		option := ""
		switch {
		case isOptional(c.kind):
			option = ",optional"
		case c.kind.Kind() == reflect.String:
			option = ",dict"
		}
		fields = append(fields, reflect.StructField{
			Name: "C" + strconv.Itoa(i), Type: c.kind, Tag: reflect.StructTag(`parquet:"` + c.Name + option + `"`),
		})
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

func writeCSV[R any](out io.Writer, columns []Column[R], rows Rows[R]) error {
	buffered := bufio.NewWriter(out)
	w := csv.NewWriter(buffered)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.Name
	}
	if err := w.Write(line); err != nil {
		return err
	}
	err := rows(func(r *R) error {
		for i, c := range columns {
			line[i] = textOf(c.kind, c.of(r))
		}
		return w.Write(line)
	})
	w.Flush()
	return errors.Join(err, w.Error(), buffered.Flush())
}

func textOf(kind reflect.Type, v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case kind.Kind() == reflect.Uint64:
		return strconv.FormatUint(v.Uint64(), 10)
	case kind.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return printable.Cell(v.String())
}
