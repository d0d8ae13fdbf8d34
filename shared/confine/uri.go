package confine

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// fromURI reads a file: URI (RFC 8089) as the path it names, percent-decoded. Any
// other name is returned as it is; other schemes are refused, since
// https://host/x is no file here and would only be "not found".
func fromURI(name string) (text string, isURI bool, err *fault.Error) {
	scheme, rest, found := strings.Cut(name, ":")
	if !found || !strings.EqualFold(scheme, "file") {
		if found && isScheme(scheme) && strings.HasPrefix(rest, "//") {
			return "", false, malformed("only file: URIs name files here, not "+strings.ToLower(scheme)+":", "Use a path or a file: URI")
		}
		return name, false, nil
	}
	rest, err = dropAuthority(rest)
	if err != nil {
		return "", true, err
	}
	if strings.ContainsAny(rest, "?#") {
		return "", true, malformed("a file: URI has no query and no fragment", "Write ? as %3F and # as %23")
	}
	text, cause := url.PathUnescape(rest)
	if cause != nil {
		return "", true, malformed("the file: URI has a bad percent-encoding", "Write % as %25").Because(cause)
	}
	if hasControl(text) {
		return "", true, malformed("the file: URI contains an encoded control character", "Remove it from the path")
	}
	return dropDriveSlash(text), true, nil
}

// dropAuthority takes the host off //host/path; only this host is ours to read.
func dropAuthority(rest string) (string, *fault.Error) {
	after, has := strings.CutPrefix(rest, "//")
	if !has {
		return rest, nil
	}
	host, path, _ := strings.Cut(after, "/")
	if host != "" && !strings.EqualFold(host, "localhost") {
		return "", malformed("the file: URI names another host", "Write file:///directory/file")
	}
	return "/" + path, nil
}

// isScheme is the syntax of RFC 3986, section 3.1, for two characters and more: one
// is a drive letter.
func isScheme(s string) bool {
	for i, c := range s {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return len(s) > 1
}

// URI is the file: URI (RFC 8089) of the path. [Roots.Parse] reads it back.
func (p Path) URI() string {
	abs := filepath.ToSlash(p.Abs())
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // C:/x on Windows
	}
	return (&url.URL{Scheme: "file", Path: abs}).String()
}
