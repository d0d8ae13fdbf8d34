package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
)

// run is what a command line of this server prints, and its exit code.
func run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	exit := command.Run(t.Context(), program(), args, command.Environment{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Environ: []string{"HOME=" + t.TempDir()}})
	return out.String(), exit
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	for _, flags := range [][]string{
		{"--allow-address", "localhost"}, {"--allow-address", "10.0.0.0/33"}, {"--allow-port", "0"}, {"--allow-port", "http"}, {"--allow-port", "70000"},
		{"--max-page-bytes", "0"}, {"--max-redirects", "99"}, {"--allow-path", "/"}, {"--vocabulary", "none"},
	} {
		if out, exit := run(t, append([]string{"tools"}, flags...)...); exit != 2 || !strings.Contains(out, "SYSTEM_003") {
			t.Errorf("%v: %d %s", flags, exit, out)
		}
	}
}

func TestDoctorSaysWhatMayBeReached(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Chdir("/") // it allows no directory, so that one is as good as another
	out, exit := run(t, "doctor", "--audit-log", "off", "--allow-address", "10.0.0.0/8", "--only-host", "*.example.com", "--allow-port", "8443")
	for _, want := range []string{"*.example.com", "10.0.0.0/8", "8443", "proxy"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not there", want)
		}
	}
	if exit != 0 || strings.Contains(out, "directory") {
		t.Errorf("%d: %s", exit, out)
	}
	if out, _ := run(t, "doctor", "--audit-log", "off"); !strings.Contains(out, "every public address") {
		t.Error(out)
	}
}
