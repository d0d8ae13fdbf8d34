package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// anchor is where the state says how far a log has come, apart from the log itself. Empty: nowhere.
func (a *app) anchor(file string) string {
	dir := stateDir(runtime.GOOS, a.env.Environ)
	path, err := filepath.Abs(file)
	if dir == "" || err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(dir, project, "anchors", hex.EncodeToString(sum[:16]))
}

// project is the directory of all servers within the user's state directory.
const project = "mcp-server"

// own is what belongs to the servers rather than to what they serve: the one place that says
// what no tool and no command may reach. The rotated files of the audit log begin with its name.
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
		own.settings = append(own.settings, word)
	}
	for _, name := range []string{"config", "token-file", "tls-key"} {
		if file := set.Text(name); file != "" {
			own.Files = append(own.Files, glob.Quote(file))
			own.settings = append(own.settings, file)
		}
	}
	return own
}

// Holding is the first of dirs that contains the state. Empty: none.
func (o Own) Holding(dirs []string) string {
	return first(dirs, func(dir string) bool { return o.State != "" && holds(dir, resolved(o.State)) })
}

// Within is the first of dirs that is in the state. Empty: none.
func (o Own) Within(dirs []string) string {
	return first(dirs, func(dir string) bool { return o.State != "" && holds(resolved(o.State), dir) })
}

// Exposed is the first file that the settings name (configuration, tokens, key, audit log), or
// of also, and the directory of dirs that holds it. Empty: none.
func (o Own) Exposed(dirs []string, also ...string) (file, dir string) {
	for _, file := range append(also, o.settings...) {
		if file == "" {
			continue
		}
		if dir := first(dirs, func(dir string) bool { return holds(dir, resolved(file)) }); dir != "" {
			return file, dir
		}
	}
	return "", ""
}

// first is the first of dirs that is as wanted, without links.
func first(dirs []string, wanted func(real string) bool) string {
	for _, dir := range dirs {
		if wanted(resolved(dir)) {
			return dir
		}
	}
	return ""
}

// CheckState is an error where somebody else can have had a hand in a directory of the servers' state,
// or in an entry of it. One that is missing is created when it is needed.
func CheckState(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return noState(dir, err)
	}
	if err := ours(dir, info); err != nil || !info.IsDir() { // the code that needs a directory reports it
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return noState(dir, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		if err != nil {
			continue // it has just gone
		}
		if err := ours(path, info); err != nil {
			return err
		}
	}
	return nil
}

// ours is an error where what info is about is a link, another user's, or others can write it.
func ours(path string, info fs.FileInfo) error {
	why := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		why = "is a link"
	case !isOwner(info):
		why = "belongs to another user"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		why = fmt.Sprintf("can be written by others (mode %#o)", info.Mode().Perm())
	default:
		return nil
	}
	return fault.New(fault.Misconfigured, "the servers' state cannot be kept: "+path+" "+why, stateElsewhere).With("path", path)
}

const stateElsewhere = "Set XDG_STATE_HOME to a directory of this user's, or give it back with chown and chmod 700"

func noState(dir string, err error) error {
	return fault.New(fault.Misconfigured, "the servers' state cannot be kept: "+dir+" cannot be looked at: "+fault.From(err).Msg,
		stateElsewhere).Because(err)
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
