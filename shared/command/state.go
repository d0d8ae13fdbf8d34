package command

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/settings"
)

// auditFile is the file that --audit-log names, the default file for auto, and
// empty for stderr and off.
func (a *app) auditFile(set *settings.Set, goos string) (string, error) {
	switch word := set.Text("audit-log"); word {
	case "stderr", "off":
		return "", nil
	case "auto":
		return defaultAuditFile(a.Name, goos, a.env.Environ)
	default:
		return word, nil
	}
}

func defaultAuditFile(server, goos string, environ []string) (string, error) {
	dir := stateDir(goos, environ)
	if dir == "" {
		return "", fault.New(fault.Misconfigured, "there is no home directory to keep the audit log in",
			"Name a file with --audit-log, or write --audit-log off")
	}
	return filepath.Join(dir, project, "audit", server+".jsonl"), nil
}

// project is the directory of all servers within the user's state directory.
const project = "mcp-server"

// own is what belongs to this program. The rotated files of the audit log begin
// with its name.
func (a *app) own(set *settings.Set) Own {
	var own Own
	if dir := stateDir(runtime.GOOS, a.env.Environ); dir != "" {
		own.State = filepath.Join(dir, project)
		own.Files = append(own.Files, glob.Quote(own.State))
	}
	if word := set.Text("audit-log"); word != "auto" && word != "stderr" && word != "off" {
		dir, base := filepath.Split(word)
		stem := strings.TrimSuffix(base, filepath.Ext(base))
		own.Files = append(own.Files, glob.Quote(dir+stem)+".*")
	}
	if config := set.Text("config"); config != "" {
		own.Files = append(own.Files, glob.Quote(config))
	}
	return own
}

// stateDir is where programs of a user keep state: $XDG_STATE_HOME where it is
// absolute (XDG Base Directory Specification 0.8: a relative one is ignored),
// else what the system has for it. Empty: none.
func stateDir(goos string, environ []string) string {
	if dir := settings.Lookup(goos, environ, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if goos == "windows" {
		return settings.Lookup(goos, environ, "LOCALAPPDATA")
	}
	home := settings.Home(goos, environ)
	switch {
	case home == "":
		return ""
	case goos == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".local", "state")
}

// home is the home directory of the user. Empty: none.
func (a *app) home() string { return settings.Home(runtime.GOOS, a.env.Environ) }

// variable is the value of a variable. Empty: none.
func (a *app) variable(name string) string { return settings.Lookup(runtime.GOOS, a.env.Environ, name) }
