package mcptest

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Listening starts a server that is to listen on port 0 of this machine, and gives the
// URL that it tells. At the end of the test, or by stop before, it is told to end, and
// must end well.
func Listening(t testing.TB, server *exec.Cmd) (url string, stop func()) {
	t.Helper()
	server.Stderr = nil
	stderr, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { end(t, server) })
	t.Cleanup(stop)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, at, found := strings.Cut(lines.Text(), " listens on "); found {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // only so that the other end never blocks
			return at, stop
		}
		t.Log(lines.Text())
	}
	t.Fatal("the server does not say where it listens")
	return "", stop
}

// end tells a server to end, where the system has a way to say that.
func end(t testing.TB, server *exec.Cmd) {
	if runtime.GOOS == "windows" {
		server.Process.Kill()
		server.Wait()
		return
	}
	server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("the server does not end well: %v", err)
	}
}

// Post sends one message to a server that listens, and gives the status and the body of
// its answer.
func Post(t testing.TB, url, token, message string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}
