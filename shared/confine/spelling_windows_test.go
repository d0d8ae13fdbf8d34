package confine_test

import (
	"errors"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestSecondNamesOfAFileAreRefused(t *testing.T) {
	r, err := confine.Open([]string{t.TempDir()}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for what, name := range map[string]string{
		"a device path": `\\?\C:\x`, "a device": `\\.\COM1`, "a path relative to a drive": `C:x`, "a path without a drive": `\x`,
		"a stream": `a.txt:s`, "the data stream": `a.txt::$DATA`, "a reserved name": `NUL`, "a reserved name with an extension": `sub\com1.txt`,
		"a trailing dot": `secret.`, "a trailing space": `secret `, "a short name": `SECRET~1.TXT`, "a wildcard": `a*`,
	} {
		if _, err := r.Parse(name); !errors.Is(err, fault.ParamMalformed) {
			t.Errorf("%s: %v, want PARAM_003", what, err)
		}
	}
	for _, name := range []string{`a\b.txt`, `a/b.txt`, `.git`, `x~y`} {
		if _, err := r.Parse(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
