package synthetic

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// program returns the beginning of a program for Linux, which asks for an
// interpreter if it is dynamic.
func program(machine elf.Machine, dynamic bool) []byte {
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: 1,
		Shentsize: 64,
	}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD)}
	if dynamic {
		segment.Type = uint32(elf.PT_INTERP)
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, header)
	binary.Write(&b, binary.LittleEndian, segment)
	return b.Bytes()
}

func TestCheckProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heddle")
	wantError(t, CheckProgram(path, "amd64"), "no such file")
	for _, c := range []struct {
		name    string
		content []byte
		goarch  string
		want    string
	}{
		{"static", program(elf.EM_X86_64, false), "amd64", ""},
		{"static arm", program(elf.EM_AARCH64, false), "arm64", ""},
		{
			"dynamic", program(elf.EM_X86_64, true), "amd64",
			"needs the C library of this machine, which the cluster's nodes may lack; build it with 'GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go install ./cmd/heddle'",
		},
		{"other machine", program(elf.EM_X86_64, false), "arm64", "it is for EM_X86_64 and the cluster's nodes are arm64"},
		{"macOS", []byte("\xcf\xfa\xed\xfe and so on, as a program of macOS begins"), "amd64", "it is no program for Linux"},
		{"empty", nil, "amd64", "check the program of tasks"},
		{"unknown nodes", program(elf.EM_X86_64, false), "pdp11", "nodes of architecture pdp11"},
	} {
		mustDo(t, os.WriteFile(path, c.content, 0o755))
		err := CheckProgram(path, c.goarch)
		wantError(t, err, c.want)
	}
}
