package confine_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
)

func TestOnlyWhatIsKnownToBeLocalIsCalledSo(t *testing.T) {
	base := fixture(t, "allow/d/f")
	r, err := confine.OpenBy([]string{base + "/allow", "/proc/self"}, confine.Options{}, confine.ByKernel)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var st unix.Statfs_t
	if err := unix.Statfs(base, &st); err != nil {
		t.Fatal(err)
	}
	known := st.Type == unix.EXT4_SUPER_MAGIC || st.Type == unix.TMPFS_MAGIC
	for dir, file := range map[string]string{base + "/allow/d": "f", "/proc/self": "status"} {
		d := openDir(t, r, dir)
		var reader confine.Reader
		if reader.Local() {
			t.Error("a closed file is local")
		}
		if err := d.OpenReader(file, &reader); err != nil {
			t.Fatal(err)
		}
		if want := file == "f"; (known || !want) && (d.Local() != want || reader.Local() != want) {
			t.Errorf("%s: %v, and its file %v", dir, d.Local(), reader.Local())
		}
		reader.Close()
	}
}
