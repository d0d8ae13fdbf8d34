package audit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Target is a log of the system that copies of events go to.
type Target struct {
	Name   string // as it was asked for: "journald", "syslog:/run/log.sock"
	Socket string // where that log listens
	format func(line []byte) []byte
	large  bool // it takes what is too long for a datagram as a sealed file in memory
}

// TargetOf reads the name of a log of the system, with the path of its socket behind a
// colon where that is not the usual one.
func TargetOf(name string) (Target, error) {
	kind, socket, given := strings.Cut(name, ":")
	t := Target{Name: name, Socket: socket}
	switch kind {
	case "journald": // systemd documentation, Native Journal Protocol
		t.format, t.large = journalEntry, true
		if !given {
			t.Socket = "/run/systemd/journal/socket"
		}
	case "syslog":
		t.format = syslogMessage
		if !given {
			t.Socket = "/dev/log"
		}
	default:
		return t, fault.New(fault.Misconfigured, fmt.Sprintf("audit events cannot also go to %q", name), "Write journald or syslog")
	}
	if !filepath.IsAbs(t.Socket) {
		return t, fault.New(fault.Misconfigured, fmt.Sprintf("%q does not name the absolute path of a socket", name),
			"Write "+kind+", or "+kind+":/path/of/its/socket")
	}
	return t, nil
}

// Severities and the facility of RFC 5424, section 6.2.1: audit events are for those
// who may read what concerns security.
const (
	severityError   = 3
	severityWarning = 4
	severityNotice  = 5
	severityInfo    = 6
	authpriv        = 10
)

func (e Event) severity() int {
	switch {
	case strings.HasPrefix(e.Code, "SYSTEM_"):
		return severityError
	case e.Verdict == "deny" || e.Outcome == "refused":
		return severityWarning
	case e.Outcome == "error":
		return severityNotice
	}
	return severityInfo
}

// eventOf reads a line that this package wrote.
func eventOf(line []byte) (e Event) {
	_ = json.Unmarshal(line, &e) // a line that is not an event has no fields
	return e
}

// journalEntry is a line as journald takes it: a sentence, fields to query by, and the
// line itself, whose hash can be verified.
func journalEntry(line []byte) []byte {
	e := eventOf(line)
	b := make([]byte, 0, 2*len(line)+1024)
	b = appendField(b, "MESSAGE", cut(strings.Join(e.words(), " "), maxCause))
	b = appendField(b, "PRIORITY", strconv.Itoa(e.severity()))
	b = appendField(b, "SYSLOG_FACILITY", strconv.Itoa(authpriv))
	b = appendField(b, "SYSLOG_IDENTIFIER", e.Server)
	b = appendField(b, "MCP_SEQ", strconv.FormatUint(e.Seq, 10))
	b = appendField(b, "MCP_SESSION", e.Session)
	b = appendField(b, "MCP_CLIENT", e.Client)
	b = appendField(b, "MCP_REQUEST_ID", e.RequestID)
	b = appendField(b, "MCP_TOOL", e.Tool)
	for _, path := range e.Paths {
		b = appendField(b, "MCP_PATH", path)
	}
	b = appendField(b, "MCP_VERDICT", e.Verdict)
	b = appendField(b, "MCP_RULE", e.Rule)
	b = appendField(b, "MCP_OUTCOME", e.Outcome)
	b = appendField(b, "MCP_CODE", e.Code)
	b = appendField(b, "MCP_DURATION_MS", strconv.FormatFloat(e.DurationMS, 'f', -1, 64))
	b = appendField(b, "MCP_BYTES", strconv.FormatInt(e.Bytes, 10))
	b = appendField(b, "MCP_HASH", e.Hash)
	return appendField(b, "MCP_EVENT", string(bytes.TrimSuffix(line, []byte("\n"))))
}

// appendField appends a field that has a value; one that holds a line end is written with
// its length, so that it cannot pass for two.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, name...)
	if strings.Contains(value, "\n") {
		b = binary.LittleEndian.AppendUint64(append(b, '\n'), uint64(len(value)))
	} else {
		b = append(b, '=')
	}
	return append(append(b, value...), '\n')
}

// maxSyslog is the longest text of a message: what rsyslog accepts by default,
// less what precedes it.
const maxSyslog = 8<<10 - 128

// syslogMessage is a line as syslog(3) writes one to the local socket, which is the form
// that everybody reads there: rsyslog and journald take one of RFC 5424 for a mere text. A line
// that is too long is shortened, and can still be found in the log by its number and hash.
func syslogMessage(line []byte) []byte {
	e := eventOf(line)
	b := fmt.Appendf(nil, "<%d>%s %s[%d]: ", authpriv<<3|e.severity(), e.Time.Local().Format(time.Stamp), e.Server, e.PID)
	text := bytes.TrimSuffix(line, []byte("\n"))
	fits := func(e Event) bool {
		short, err := jsonx.Marshal(e)
		text = short
		return err == nil && len(short) <= maxSyslog
	}
	if len(text) > maxSyslog {
		if e = reduced(e); !fits(e) {
			if e.Paths, e.Cause, e.Rule = nil, "", ""; !fits(e) {
				text = fmt.Appendf(nil, `{"seq":%d,"hash":%q}`, e.Seq, e.Hash)
			}
		}
	}
	return append(b, text...)
}
