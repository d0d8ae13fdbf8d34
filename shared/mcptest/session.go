package mcptest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Main runs a package's tests with two programs in their PATH: the server
// itself, under its name, and mcp (see [Session]). Call it from TestMain; the
// server's program is its main function.
func Main(m testscript.TestingM, name string, program func()) {
	testscript.Main(m, map[string]func(){name: program, "mcp": Session})
}

// Scripts runs every script in dir. Each has its own home and state directory
// under $WORK, so that nothing of the person who runs the tests is read or
// written; -update rewrites what the scripts expect.
func Scripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			return nil
		},
	})
}

// Session is the mcp program of scripts:
//
//	exec mcp [-era legacy|modern] [-json] SCRIPT PROGRAM [ARGUMENT...]
//
// It starts the program and goes through the script, a call a line:
//
//	# a comment
//	file_read {"path": "a.txt"}
//	:resources/read {"uri": "file:///a.txt"}
//
// A line starting with a colon is a request of any method, its parameters
// after it. Each line is printed after "> ", then the answer: the text, or with
// -json the structured content; a failure has its code on a line of its own,
// after "! ". Failures are answers too: mcp itself fails only when the server
// breaks the protocol or ends with another code than 0.
func Session() {
	if err := session(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

func session(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	eraName := flags.String("era", "legacy", "legacy or modern")
	structured := flags.Bool("json", false, "print structured content")
	if err := flags.Parse(args); err != nil {
		return err
	}
	era, err := ParseEra(*eraName)
	if err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return fmt.Errorf("a script and a program are needed")
	}
	script, err := open(flags.Arg(0), stdin)
	if err != nil {
		return err
	}
	defer script.Close()
	c, err := dial(Options{Era: era}, nil, flags.Arg(1), flags.Args()[2:])
	if err != nil {
		return err
	}
	err = play(c, script, stdout, *structured)
	return conclude(c, err, stderr)
}

// open opens the script; "-" is the standard input.
func open(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(name)
}

// conclude ends the server and says the first thing that went wrong.
func conclude(c *conn, err error, stderr io.Writer) error {
	closing := c.close()
	fmt.Fprint(stderr, c.stderr.String())
	switch strays := c.strays(); {
	case err != nil:
		return err
	case closing != nil:
		return closing
	case len(strays) > 0:
		return fmt.Errorf("stdout carries MCP only, but the server wrote %q", strays[0])
	case !c.cmd.ProcessState.Success():
		return fmt.Errorf("the server ended with %v", c.cmd.ProcessState)
	}
	return nil
}

// play goes through the script line by line.
func play(c *conn, script io.Reader, out io.Writer, structured bool) error {
	if err := c.handshake(); err != nil {
		return err
	}
	lines := bufio.NewScanner(script)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintln(out, ">", line)
		if err := ask(c, line, out, structured); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ask does what one line asks for and prints the answer.
func ask(c *conn, line string, out io.Writer, structured bool) error {
	name, rest, _ := strings.Cut(line, " ")
	if method, ok := strings.CutPrefix(name, ":"); ok {
		return askMethod(c, method, rest, out)
	}
	var args any
	if rest != "" {
		args = rest
	}
	result, err := c.call(name, args)
	if err != nil {
		return err
	}
	if result.IsError {
		fmt.Fprintln(out, "!", result.Code)
	}
	if structured && result.Structured != nil {
		return show(out, result.Structured)
	}
	fmt.Fprintln(out, strings.TrimSuffix(result.Text, "\n"))
	return nil
}

func askMethod(c *conn, method, params string, out io.Writer) error {
	var p map[string]any
	if params != "" {
		if err := json.Unmarshal([]byte(params), &p); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	m, err := c.request(method, p)
	if err != nil {
		return err
	}
	if m.Error != nil {
		fmt.Fprintln(out, "!", m.Error.Code)
		fmt.Fprintln(out, m.Error.Message)
		return nil
	}
	return show(out, m.Result)
}

// show prints JSON with its keys in order, and with the two fields of an error
// that differ from run to run left empty.
func show(out io.Writer, raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	if object, ok := value.(map[string]any); ok {
		blank(object["error"], "timestamp", "request_id")
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", text)
	return nil
}

func blank(value any, keys ...string) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	for _, key := range keys {
		if _, ok := object[key]; ok {
			object[key] = ""
		}
	}
}
