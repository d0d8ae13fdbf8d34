package command_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestCallsReadValuesByTheTypeOfTheirParameter(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		want string
	}{
		{"a string", []string{"name=Ada"}, "hello Ada\n"},
		{"a string that looks like a number", []string{"name=7"}, "hello 7\n"},
		{"a string that looks like JSON", []string{`name={"a":[1]}`}, "hello {\"a\":[1]}\n"},
		{"a string that looks like a list", []string{`name=["x"]`}, "hello [\"x\"]\n"},
		{"a string with an equals sign and a quote", []string{`name=a="b"`}, "hello a=\"b\"\n"},
		{"an empty string", []string{"name="}, "hello \n"},
		{"a whole number", []string{"name=Ada", "times=2"}, "hello hello Ada\n"},
		{"a truth", []string{"name=Ada", "loud=true"}, "HELLO ADA\n"},
		{"a list of one", []string{"name=Ada", "also=Bob"}, "hello Ada and Bob\n"},
		{"a list by repetition", []string{"name=Ada", "also=Bob", "also=7"}, "hello Ada and Bob and 7\n"},
		{"a list as JSON", []string{"name=Ada", `also=["Bob","Cy"]`}, "hello Ada and Bob and Cy\n"},
		{"an element that only begins like a list", []string{"name=Ada", "also=[Bob"}, "hello Ada and [Bob\n"},
		{"all as JSON", []string{"--json", `{"name":"Ada","times":2}`}, "hello hello Ada\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := newFixture(t).must(t, 0, append([]string{"call", "greet"}, c.args...)...).out; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestArgumentsFromStdin(t *testing.T) {
	w := newFixture(t)
	w.stdin = strings.NewReader(`{"name":"Ada"}`)
	if got := w.must(t, 0, "call", "greet", "--json", "-").out; got != "hello Ada\n" {
		t.Errorf("got %q", got)
	}
	w.stdin = strings.NewReader(`"` + strings.Repeat("x", 16<<20) + `"`)
	contains(t, "stderr", w.must(t, 1, "call", "greet", "--json", "-").errors, "16 MiB")
}

func TestACallThatFailsSaysSoOnStderr(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		code int
		says string
	}{
		{"the tool refuses", []string{"greet", "name=nobody"}, 1, "SECURITY_002: nobody is not to be greeted. Greet somebody else."},
		{"an unknown tool", []string{"gret", "name=Ada"}, 1, "greet"},
		{"a tool that is not granted", []string{"keep", "file=x", "--toolsets", "words"}, 1, "AUTH_003"},
		{"an unknown parameter", []string{"greet", "nam=Ada"}, 1, "PARAM_002"},
		{"a missing parameter", []string{"greet"}, 1, "PARAM_001"},
		{"a word for a number", []string{"greet", "name=Ada", "times=many"}, 1, "PARAM_003"},
		{"a string twice", []string{"greet", "name=Ada", "name=Bob"}, 1, "PARAM_003"},
		{"a number out of range", []string{"greet", "name=Ada", "times=10"}, 1, "PARAM_002"},
		{"broken JSON", []string{"greet", "--json", `{"name":`}, 1, "PARAM_003"},
		{"no key", []string{"greet", "Ada"}, 2, "KEY=VALUE"},
		{"arguments twice", []string{"greet", "name=Ada", "--json", "{}"}, 2, "both"},
		{"an output that is none", []string{"greet", "name=Ada", "--output", "jsn"}, 2, "Did you mean json?"},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := newFixture(t).must(t, c.code, append([]string{"call"}, c.args...)...)
			contains(t, "stderr", r.errors, c.says)
			if r.out != "" {
				t.Errorf("stdout carries %q", r.out)
			}
		})
	}
}

func TestACallAsJSONIsTheWholeResult(t *testing.T) {
	var result struct {
		StructuredContent map[string]any
		IsError           bool
	}
	w := newFixture(t)
	if err := json.Unmarshal([]byte(w.must(t, 0, "call", "greet", "name=Ada", "--output", "json").out), &result); err != nil {
		t.Fatal(err)
	}
	if result.StructuredContent["greeting"] != "hello Ada" {
		t.Errorf("got %+v", result)
	}
	if err := json.Unmarshal([]byte(w.must(t, 1, "call", "greet", "name=nobody", "--output", "json").out), &result); err != nil {
		t.Fatal(err)
	}
	if !result.IsError {
		t.Errorf("got %+v", result)
	}
}

func TestACallHasTheGuardsOfAServer(t *testing.T) {
	w := newFixture(t)
	w.restrict = lacks
	r := w.must(t, 1, "call", "keep", "file=x", "--restrict", "required")
	contains(t, "stderr", r.errors, "SYSTEM_002")
	if _, err := os.Stat("x"); err == nil {
		t.Error("the call was made unrestricted")
	}
	w.must(t, 0, "call", "keep", "file=x")
	contains(t, "the log", w.must(t, 0, "audit", "query").out, "keep  allow  begin", "keep  allow  ok")
}
