package settings_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
)

// table has a flag of every kind besides the common ones.
func table() []settings.Flag {
	return append(settings.Common(),
		settings.Flag{Name: "wait", Kind: settings.Duration, Default: "4s"},
		settings.Flag{Name: "max-bytes", Kind: settings.Size, Default: "128KiB", Min: 1},
		settings.Flag{Name: "max-files", Kind: settings.Count, Default: "50", Min: 1, Max: 1000},
	)
}

// load reads a command line, an environment and, where text is not empty, a file
// c.toml beside which the process runs.
func load(t *testing.T, line, environ []string, text string) (*settings.Set, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if text != "" {
		if err := os.WriteFile("c.toml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		line = append(line, "--config", "c.toml")
	}
	s := settings.New("file-read", table()...)
	fs := pflag.NewFlagSet("file-read", pflag.ContinueOnError)
	s.Bind(fs)
	if err := fs.Parse(line); err != nil {
		t.Fatal(err)
	}
	return s, s.Load(environ)
}

func mustLoad(t *testing.T, line, environ []string, text string) *settings.Set {
	t.Helper()
	s, err := load(t, line, environ, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheNearerLayerWins(t *testing.T) {
	const file = `vocabulary = "from-file"`
	env := []string{"MCP_FILE_READ_VOCABULARY=from-env"}
	line := []string{"--vocabulary", "from-line"}
	for _, c := range []struct {
		what         string
		line, env    []string
		file         string
		want, source string
	}{
		{"nobody says anything", nil, nil, "", "standard", "default"},
		{"the file beats the default", nil, nil, file, "from-file", "file "},
		{"the environment beats the file", nil, env, file, "from-env", "MCP_FILE_READ_VOCABULARY"},
		{"the command line beats the environment", line, env, file, "from-line", "flag --vocabulary"},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := mustLoad(t, c.line, c.env, c.file)
			if got := s.Text("vocabulary"); got != c.want {
				t.Errorf("value %q, want %q", got, c.want)
			}
			if got := s.Source("vocabulary"); !strings.HasPrefix(got, c.source) {
				t.Errorf("source %q, want %q", got, c.source)
			}
			if s.Given("vocabulary") != (c.source != "default") {
				t.Error("Given does not tell a default from a value")
			}
		})
	}
}

func TestAVariableThatOthersPublishedIsReadTheirWay(t *testing.T) {
	dirs := settings.Flag{Name: "dir", Kind: settings.List, Dir: true, Variable: "MCP_SHELL_ALLOWED_WORKDIRS"}
	s := settings.New("file-read", dirs)
	if err := s.Load([]string{"MCP_SHELL_ALLOWED_WORKDIRS=/a,/b"}); err != nil {
		t.Fatal(err)
	}
	if got := s.List("dir"); !slices.Equal(got, []string{filepath.FromSlash("/a"), filepath.FromSlash("/b")}) || s.Source("dir") != "MCP_SHELL_ALLOWED_WORKDIRS" {
		t.Errorf("%q from %s", got, s.Source("dir"))
	}
	err := settings.New("file-read", dirs).Load([]string{"MCP_SHELL_ALLOWED_WORKDIRS=/a", "MCP_FILE_READ_DIR=/a"})
	if fault.From(err) == nil || fault.From(err).Code != fault.Misconfigured {
		t.Errorf("both names: %v", err)
	}
}

func TestEveryKindIsReadFromEveryLayer(t *testing.T) {
	line := []string{"--hide-paths", "--symlinks=within", "--toolsets", "read,list", "--toolsets", "search",
		"--deny-path", "*.{a,b}", "--deny-path", "x", "--wait", "1m30s", "--max-bytes", "2MB", "--max-files", "7",
		"--rate-limit", "10/m", "--log-level", "debug", "--audit-log", "off"}
	env := []string{"MCP_FILE_READ_HIDE_PATHS=true", "MCP_FILE_READ_SYMLINKS=within", "MCP_FILE_READ_TOOLSETS=read,list,search",
		"MCP_FILE_READ_DENY_PATH=*.{a,b}" + string(os.PathListSeparator) + "x", "MCP_FILE_READ_WAIT=90s",
		"MCP_FILE_READ_MAX_BYTES=2000000", "MCP_FILE_READ_MAX_FILES=7", "MCP_FILE_READ_RATE_LIMIT=10/1m",
		"MCP_FILE_READ_LOG_LEVEL=debug", "MCP_FILE_READ_AUDIT_LOG=off", "PATH=/bin"}
	const file = `
hide-paths = true
symlinks   = "within"
toolsets   = ["read", "list", "search"]
deny-path  = ["*.{a,b}", "x"]
wait       = "1m30s"
max-bytes  = 2_000_000
max-files  = 7
rate-limit = "10/60s"
log-level  = "debug"
audit-log  = "off"
`
	for _, c := range []struct {
		what      string
		line, env []string
		file      string
	}{
		{"the command line", line, nil, ""}, {"the environment", nil, env, ""}, {"the file", nil, nil, file},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := mustLoad(t, c.line, c.env, c.file)
			calls, per := s.Rate("rate-limit")
			for what, ok := range map[string]bool{
				"a bool":     s.Bool("hide-paths"),
				"a choice":   s.Text("symlinks") == "within",
				"a list":     slices.Equal(s.List("toolsets"), []string{"read", "list", "search"}),
				"globs":      slices.Equal(s.List("deny-path"), []string{"*.{a,b}", "x"}),
				"a duration": s.Duration("wait") == 90*time.Second,
				"a size":     s.Size("max-bytes") == 2_000_000,
				"a count":    s.Count("max-files") == 7,
				"a rate":     calls == 10 && per == time.Minute,
				"a level":    s.Level("log-level") == slog.LevelDebug,
				"a word":     s.Text("audit-log") == "off",
			} {
				if !ok {
					t.Errorf("%s is lost", what)
				}
			}
		})
	}
}

func TestDefaultsAreValues(t *testing.T) {
	s := mustLoad(t, nil, nil, "")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.List("allow-path"); !slices.Equal(got, []string{dir}) {
		t.Errorf("allow-path is %q, want the working directory", got)
	}
	if calls, _ := s.Rate("rate-limit"); calls != 0 || s.Bool("deny-secrets") || s.List("toolsets") != nil {
		t.Error("what nobody set is set")
	}
	if s.Size("max-bytes") != 128<<10 || s.Level("log-level") != slog.LevelWarn {
		t.Error("a default is not what the table says")
	}
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	for _, c := range []struct {
		what      string
		line, env []string
		file      string
		says      string
	}{
		{"an empty directory", []string{"--allow-path", ""}, nil, "", "allow-path (flag --allow-path) is empty"},
		{"an empty directory after a good one", []string{"--allow-path", "/x", "--allow-path="}, nil, "", "is empty"},
		{"an empty variable", nil, []string{"MCP_FILE_READ_ALLOW_PATH="}, "", "allow-path (MCP_FILE_READ_ALLOW_PATH) is empty"},
		{"an empty element of a path list", nil, []string{"MCP_FILE_READ_ALLOW_PATH=/a" + string(os.PathListSeparator)}, "", "is empty"},
		{"an empty element of a list", []string{"--toolsets", "read,,list"}, nil, "", "is empty"},
		{"an empty array", nil, nil, "allow-path = []", "is empty"},
		{"an unknown variable", nil, []string{"MCP_FILE_READ_ALOW_PATH=/"}, "", "Did you mean MCP_FILE_READ_ALLOW_PATH?"},
		{"a variable like nothing known", nil, []string{"MCP_FILE_READ_ZZZZZZZZZZZZ=/"}, "", "Remove it"},
		{"an unknown key", nil, nil, `allow_path = ["/x"]`, "Did you mean allow-path?"},
		{"a table", nil, nil, "[policy]\nx = 1", "the key policy"},
		{"the file naming a file", nil, nil, `config = "d.toml"`, "the key config"},
		{"a file that is no TOML", nil, nil, "allow-path = [", "is no TOML"},
		{"a key that stands twice", nil, nil, "results='text'\nresults='both'", "is no TOML"},
		{"a file with a comment only", nil, nil, "# nothing\n", "sets nothing"},
		{"a file that is not there", []string{"--config", "absent.toml"}, nil, "", "cannot be read"},
		{"a directory for a file", []string{"--config", "."}, nil, "", "no regular file"},
		{"a bool in quotes", nil, nil, `deny-secrets = "true"`, "wrong type"},
		{"a number for a text", nil, nil, `results = 1`, "wrong type"},
		{"a list for a text", nil, nil, `results = ["text"]`, "wrong type"},
		{"a list of numbers", nil, nil, `toolsets = [1]`, "wrong type"},
		{"a count in quotes", nil, nil, `max-files = "7"`, "wrong type"},
		{"a bool that is yes", []string{"--hide-paths=yes"}, nil, "", "Write true or false"},
		{"a choice that is none", []string{"--symlinks", "follow"}, nil, "", "Write reject or within"},
		{"a rate without a duration", []string{"--rate-limit", "10"}, nil, "", "10/1m"},
		{"a rate of nothing", []string{"--rate-limit", "0/1m"}, nil, "", "10/1m"},
		{"a rate in no time", []string{"--rate-limit", "5/0s"}, nil, "", "10/1m"},
		{"a rate below zero", nil, []string{"MCP_FILE_READ_RATE_LIMIT=-5/1m"}, "", "MCP_FILE_READ_RATE_LIMIT"},
		{"a size of nothing", []string{"--max-bytes", "0"}, nil, "", "at least 1"},
		{"a size below zero", []string{"--max-bytes", "-1KiB"}, nil, "", "at least 1"},
		{"a size past 64 bits", []string{"--max-bytes", "9999999999GiB"}, nil, "", "a size such as"},
		{"a size that is small again past 64 bits", []string{"--max-bytes", "17179869185GiB"}, nil, "", "a size such as"},
		{"a size in unknown units", []string{"--max-bytes", "4XB"}, nil, "", "a size such as"},
		{"a count past its bound", []string{"--max-files", "1001"}, nil, "", "from 1 to 1000"},
		{"a duration below zero", []string{"--wait", "-1s"}, nil, "", "30s"},
		{"a duration without a unit", []string{"--wait", "30"}, nil, "", "30s"},
		{"a level that is none", []string{"--log-level", "trace"}, nil, "", "debug, info, warn or error"},
		{"a NUL in a path", nil, nil, `allow-path = ["/x\u0000y"]`, "control character"},
		{"a newline in a variable", nil, []string{"MCP_FILE_READ_ALLOW_PATH=/x\n/y"}, "", "control character"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := load(t, c.line, c.env, c.file)
			if !errors.Is(err, fault.Misconfigured) {
				t.Fatalf("got %v, want %s", err, fault.Misconfigured)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	_, err := load(t, nil, nil, "results = 'text' #"+strings.Repeat("x", 1<<20))
	if !errors.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestPathsAreAbsoluteAndMeanWhereTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "etc", "c.toml")
	if err := os.WriteFile(config, []byte(`allow-path = ["src", "~/notes", "~", "../up"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	environ := []string{"HOME=" + home, "USERPROFILE=" + home}
	for _, c := range []struct {
		what string
		line []string
		want []string
	}{
		{"in a file: its own directory", []string{"--config", config},
			[]string{"etc/src", "home/notes", "home", "up"}},
		{"on the command line: the working directory", []string{"--allow-path", "src", "--allow-path", "a,b", "--allow-path", "~x"},
			[]string{"src", "a,b", "~x"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Chdir(dir)
			s := settings.New("file-read", table()...)
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			s.Bind(fs)
			if err := fs.Parse(c.line); err != nil {
				t.Fatal(err)
			}
			if err := s.Load(environ); err != nil {
				t.Fatal(err)
			}
			for i, rel := range c.want {
				if got, want := s.List("allow-path")[i], filepath.Join(dir, rel); got != want {
					t.Errorf("%d: %q, want %q", i, got, want)
				}
			}
			if !slices.Equal(s.Words("allow-path"), s.List("allow-path")) {
				t.Error("Words and List differ")
			}
		})
	}
}

func TestAServerStartedAtTheRootMustBeToldItsDirectories(t *testing.T) {
	root := filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	start := func(line ...string) error {
		t.Chdir(root)
		s := settings.New("file-read", table()...)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.Bind(fs)
		if err := fs.Parse(line); err != nil {
			t.Fatal(err)
		}
		return s.Load(nil)
	}
	err := start()
	if !errors.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "--allow-path") {
		t.Errorf("without --allow-path: %v", err)
	}
	if err := start("--allow-path", t.TempDir()); err != nil {
		t.Errorf("with --allow-path: %v", err)
	}
}

func TestAnotherServersVariablesAreNotOurs(t *testing.T) {
	mustLoad(t, nil, []string{"MCP_FILE_WRITE_NONSENSE=1", "MCP_FILE=1", "MCP_TIMEOUT=5", "PATH=/bin", "=C:=C:\\x"}, "")
	if runtime.GOOS == "windows" {
		t.Skip("names of variables have no case there")
	}
	if mustLoad(t, nil, []string{"mcp_file_read_hide_paths=true"}, "").Bool("hide-paths") {
		t.Error("a name in lower case was taken")
	}
}

func TestADefaultChangesOnlyWhatNobodySaid(t *testing.T) {
	s := mustLoad(t, []string{"--rate-limit", "off"}, nil, "")
	s.SetDefault("rate-limit", "10/1m")
	s.SetDefault("hide-paths", "true")
	if calls, _ := s.Rate("rate-limit"); calls != 0 {
		t.Error("a default beat the command line")
	}
	if !s.Bool("hide-paths") || s.Given("hide-paths") {
		t.Error("the new default is not in force, or passes for given")
	}
}

func TestATableThatMakesNoSensePanics(t *testing.T) {
	good := settings.Flag{Name: "a", Kind: settings.Text}
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"a name that stands twice", func() { settings.New("x", good, good) }},
		{"no name", func() { settings.New("x", settings.Flag{Kind: settings.Text}) }},
		{"no kind", func() { settings.New("x", settings.Flag{Name: "a"}) }},
		{"a default that is no value", func() { settings.New("x", settings.Flag{Name: "a", Kind: settings.Count, Default: "many"}) }},
		{"a getter before Load", func() { settings.New("x", good).Text("a") }},
		{"a getter of another kind", func() { mustLoad(t, nil, nil, "").Bool("symlinks") }},
		{"a getter of no flag", func() { mustLoad(t, nil, nil, "").Text("nothing") }},
		{"a new default for no flag", func() { mustLoad(t, nil, nil, "").SetDefault("nothing", "x") }},
		{"a new default that is no value", func() { mustLoad(t, nil, nil, "").SetDefault("hide-paths", "x") }},
	} {
		t.Run(c.what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.do()
		})
	}
}

func TestTheTableInMarkdown(t *testing.T) {
	got := settings.Markdown([]settings.Flag{
		{Name: "allow-path", Kind: settings.List, Dir: true, Default: ".", Doc: "what may be touched"},
		{Name: "results", Kind: settings.Choice, Choices: []string{"both", "text"}, Default: "both", Doc: "a | b"},
		{Name: "quiet", Kind: settings.Bool, Doc: "no words"},
	})
	const want = "| flag | meaning | default |\n|---|---|---|\n" +
		"| `--allow-path DIR` (repeatable) | what may be touched | `.` |\n" +
		"| `--results both\\|text` | a \\| b | `both` |\n" +
		"| `--quiet` | no words | – |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheCommonTableIsComplete(t *testing.T) {
	want := strings.Fields("allow-path deny-path deny-secrets vocabulary toolsets symlinks follow-roots rate-limit audit-log " +
		"audit-required audit-also otlp-endpoint transport listen token-file tls-cert tls-key behind-tls allow-host allow-origin results hide-paths restrict log-level config")
	var got []string
	for _, f := range settings.Common() {
		got = append(got, f.Name)
		if f.Doc == "" {
			t.Errorf("%s says nothing about itself", f.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"allow-path", "deny-path", "results"}
	for word, want := range map[string]string{
		"alow-path": "allow-path", "allow_path": "allow-path", "result": "results", "deny-paths": "deny-path",
		"": "", "x": "", "vocabulary": "",
	} {
		if got := settings.Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
