package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instructions are the lines of a Dockerfile as name and rest, without comments and with
// continued lines as one.
func instructions(t *testing.T, file string) [][2]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	var all [][2]string
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(raw), "")
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, [2]string{name, strings.Join(strings.Fields(rest), " ")})
	}
	return all
}

func TestAnImageHoldsTheProgramAndRunsAsNobody(t *testing.T) {
	each(t, func(t *testing.T, s server, program string, _ about) {
		dir := t.TempDir()
		var programs []binary
		for _, arch := range []string{"amd64", "arm64"} {
			programs = append(programs, binary{"linux", arch, program})
		}
		must(t, writeContext(dir, s, programs, ".."))
		var order []string
		rest := map[string]string{}
		for _, i := range instructions(t, filepath.Join(dir, "Dockerfile")) {
			order = append(order, i[0])
			rest[i[0]] += i[1] + "\n"
		}
		want := []string{"FROM", "ARG", "ARG", "LABEL", "COPY", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT"}
		from := "scratch\n"
		if s.base != "scratch" {
			want, from = slices.Insert(want, 0, "ARG"), "${BASE}\n"
		}
		if !slices.Equal(order, want) || rest["FROM"] != from { // nothing is run, fetched or left to a shell
			t.Errorf("the Dockerfile is %q from %q", order, rest["FROM"])
		}
		if s.base != "scratch" && !strings.HasPrefix(rest["ARG"], "BASE=scratch\n") {
			t.Errorf("without a word the image is not from scratch: %q", rest["ARG"])
		}
		if !regexp.MustCompile(`^[1-9]\d{3,}:[1-9]\d{3,}\n$`).MatchString(rest["USER"]) {
			t.Errorf("the user is %q", rest["USER"])
		}
		if !strings.Contains(rest["LABEL"], `io.modelcontextprotocol.server.name="`+s.registryName()+`"`) {
			t.Errorf("the registry would not take the image for ours: %s", rest["LABEL"])
		}
		var entry []string
		must(t, json.Unmarshal([]byte(rest["ENTRYPOINT"]), &entry))
		mustBeCopied(t, dir, rest["COPY"], entry[0])
	})
}

// mustBeCopied fails where a source of COPY is not in the context, for each processor,
// or the program that the image starts is none of them.
func mustBeCopied(t *testing.T, context, copies, program string) {
	t.Helper()
	var targets []string
	for line := range strings.Lines(copies) {
		words := slices.DeleteFunc(strings.Fields(line), func(w string) bool { return strings.HasPrefix(w, "--") })
		for _, arch := range []string{"amd64", "arm64"} {
			source := filepath.Join(context, strings.ReplaceAll(words[0], "${TARGETARCH}", arch))
			if info, err := os.Stat(source); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is not there, or cannot be run or entered: %v", source, err)
			}
		}
		targets = append(targets, words[1])
	}
	if !slices.Contains(targets, program) {
		t.Errorf("the image starts %s and holds %q", program, targets)
	}
}
