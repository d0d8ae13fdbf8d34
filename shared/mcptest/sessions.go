package mcptest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Sessions plays every session in dir, a txtar file each, and holds each byte that the
// server writes against it; with -update the files say what the server says now.
//
//	What the session is about.
//	-- a.txt --
//	A file in the directory that the server is started in.
//	-- many/{1..600}.txt --
//	Six hundred of them.
//	-- wire --
//	$ file-read --allow-path .
//
//	# What the client does.
//	> {"jsonrpc":"2.0","id":1,"method":"ping"}
//	< {"jsonrpc":"2.0","id":1,"result":{}}
//	^D
//
// Lines with > that stand together are sent together, as they are. Then the client
// waits: for an answer to each request, or for a question of the server's. A request
// that it cancels next is not waited for, except for the first news of its progress
// where it asked for that; of the news of a request only the first is written down.
// ^D is the end of the input, after which the server must end well.
//
// What differs from run to run has a name: $ROOT is the directory (as in a shell,
// ${ROOT#/} is that without its first slash), $TIME a time, and the rest is varying. What
// a client sends may have the names of values that came.
func Sessions(t *testing.T, dir string, varying ...Varying) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no story in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := tell(t.TempDir(), archive, varying); err != nil {
				t.Fatal(err)
			}
			Golden(t, file, string(txtar.Format(archive)))
		})
	}
}

// Varying is what differs from run to run.
type Varying struct {
	Name  string         // stands for it, after a $
	In    *regexp.Regexp // its groups are the values
	Alike bool           // every value has the same name; else the second is $NAME2, and so on
}

// always differs, whatever the server.
func always() []Varying {
	return []Varying{
		{"TIME", regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^"\\]*)`), true},
		{"VERSION", regexp.MustCompile(`"version":"([^"]+)"`), true},
		{"STATE", regexp.MustCompile(`"requestState":"([^"]+)"`), false},
	}
}

// wireFile is the last file of a session: the session itself.
const wireFile = "wire"

// tell plays a session in a new directory under dir and makes it say what came.
func tell(dir string, story *txtar.Archive, varying []Varying) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	root, home := filepath.Join(dir, "root"), filepath.Join(dir, "home")
	for _, d := range []string{root, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	last := len(story.Files) - 1
	if last < 0 || story.Files[last].Name != wireFile {
		return fmt.Errorf("the last file of a story is %q", wireFile)
	}
	for _, f := range story.Files[:last] {
		if err := plantAll(root, f); err != nil {
			return err
		}
	}
	said, err := converse(string(story.Files[last].Data), root, home, newNames(root, home, varying))
	story.Files[last].Data = []byte(said)
	return err
}

var counted = regexp.MustCompile(`\{1\.\.(\d+)\}`)

// plantAll makes one file, or as many as its name says: {1..600}.
func plantAll(root string, f txtar.File) error {
	n, at := 1, counted.FindStringSubmatchIndex(f.Name)
	if at != nil {
		n, _ = strconv.Atoi(f.Name[at[2]:at[3]])
	}
	for i := 1; i <= n; i++ {
		name := f.Name
		if at != nil {
			name = name[:at[0]] + strconv.Itoa(i) + name[at[1]:]
		}
		if err := plant(root, name+"="+string(f.Data)); err != nil {
			return err
		}
	}
	return nil
}

// converse plays the session that text is, and is that session as it went.
func converse(text, root, home string, names *names) (string, error) {
	command, lines, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.TrimPrefix(command, "$ "))
	if !strings.HasPrefix(command, "$ ") || len(words) == 0 {
		return text, fmt.Errorf("a session begins with $ and a command, not with %q", command)
	}
	for i := range words {
		words[i] = names.expand(words[i])
	}
	options := Options{Dir: root, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/.state"}}
	c, err := dial(options, make(chan string), words[0], words[1:])
	if err != nil {
		return text, err
	}
	d := &dialogue{conn: c, names: names, owed: map[string]remark{}, news: map[string]bool{}}
	defer func() { // leave nothing of the server
		_ = c.cmd.Process.Kill()
		for range c.lines {
		}
		<-c.gone
	}()
	told := command + "\n"
	passages := passagesOf(lines)
	for i, p := range passages {
		var next passage
		if i+1 < len(passages) {
			next = passages[i+1]
		}
		came, err := d.exchange(p, next)
		if err != nil {
			return text, fmt.Errorf("after %q: %w\nits stderr:\n%s", p.sent, err, d.stderr.String())
		}
		told += p.with(came)
	}
	if !d.closed {
		return told, fmt.Errorf("the session does not end with %s", endOfInput)
	}
	if <-c.gone; !c.cmd.ProcessState.Success() {
		return told, fmt.Errorf("the server ended with %v", c.cmd.ProcessState)
	}
	return told, nil
}

// passage is a part of a session: words for the reader, then what the client sends.
type passage struct{ above, sent []string }

const endOfInput = "^D"

// passagesOf takes the text of a session apart. What the server said then is dropped.
func passagesOf(text string) []passage {
	all := []passage{{}}
	answered := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "< ") {
			answered = true
			continue
		}
		last := &all[len(all)-1]
		sent := strings.HasPrefix(line, "> ") || line == endOfInput
		if len(last.sent) > 0 && (answered || !sent) {
			all = append(all, passage{})
			last = &all[len(all)-1]
		}
		answered = false
		if sent {
			last.sent = append(last.sent, line)
		} else {
			last.above = append(last.above, line)
		}
	}
	return all
}

// with is the passage as it is written, with what came of it.
func (p passage) with(came []string) string {
	var b strings.Builder
	for _, line := range append(p.above, p.sent...) {
		b.WriteString(line + "\n")
	}
	for _, line := range came {
		b.WriteString("< " + line + "\n")
	}
	return b.String()
}

// names are what stands in a session for what differs from run to run.
type names struct {
	places  *strings.Replacer
	varying []Varying
	count   map[string]int
	given   []string // a name, its value, and so on
}

func newNames(root, home string, varying []Varying) *names {
	return &names{
		places:  strings.NewReplacer(root, "$ROOT", home, "$HOME", strings.TrimPrefix(root, "/"), "${ROOT#/}"),
		varying: append(always(), varying...),
		count:   map[string]int{},
		given:   []string{"$ROOT", root, "$HOME", home},
	}
}

// give is the name of a value.
func (n *names) give(name, value string) string {
	for i := 1; i < len(n.given); i += 2 {
		if n.given[i] == value {
			return n.given[i-1]
		}
	}
	if n.count[name]++; n.count[name] > 1 {
		name += strconv.Itoa(n.count[name])
	}
	n.given = append([]string{"$" + name, value}, n.given...) // $X2 is to be found before $X
	return "$" + name
}

// hide puts names in place of what varies.
func (n *names) hide(line string) string {
	line = n.places.Replace(line)
	for _, v := range n.varying {
		line = replaceGroups(v.In, line, func(value string) string {
			if v.Alike {
				return "$" + v.Name
			}
			return n.give(v.Name, value)
		})
	}
	return line
}

// expand puts values back in place of names.
func (n *names) expand(line string) string { return strings.NewReplacer(n.given...).Replace(line) }

// replaceGroups replaces what the groups of an expression match.
func replaceGroups(re *regexp.Regexp, s string, by func(string) string) string {
	var b strings.Builder
	done := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				b.WriteString(s[done:m[i]] + by(s[m[i]:m[i+1]]))
				done = m[i+1]
			}
		}
	}
	return b.String() + s[done:]
}
