package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/hosts"
)

// wanted says which registrations doctor is to look at.
type wanted struct {
	host    string // empty: of all hosts; "none": of none
	name    string // empty: every entry that starts this server
	project bool   // what the project's file names is started too
}

// limit is how long one registered server may take for all that it is asked.
func (a *app) limit() time.Duration {
	if a.env.limit > 0 {
		return a.env.limit
	}
	return 10 * time.Second
}

// registration is one entry of a host's file.
type registration struct {
	host hosts.Host
	file string
	dir  string // where the host starts it, as far as that is known
	// It is not started: a project's file can come from anybody.
	untrusted bool
	hosts.Registered
}

// registrations looks at the hosts' files, and starts each server that they name
// once, as the host would.
func (a *app) registrations(ctx context.Context, w wanted) []Check {
	if w.host == "none" {
		return nil
	}
	all := hosts.All()
	if w.host != "" {
		h, err := hostOf(w.host)
		if err != nil {
			return []Check{bad("host", err)}
		}
		all = []hosts.Host{h}
	}
	var checks []Check
	started := map[string]string{}
	for _, h := range all {
		found, faults := a.entries(h, w)
		checks = append(checks, faults...)
		for _, r := range found {
			checks = append(checks, a.visit(ctx, r, started)...)
		}
	}
	switch {
	case len(checks) > 0:
		return checks
	case w.host != "":
		return []Check{{Bad, w.host, a.Name + " is not registered with " + all[0].Title, "install " + w.host + " does that"}}
	}
	return []Check{{OK, "hosts", a.Name + " is registered with no host of this user", "install HOST does that; install lists the hosts"}}
}

// entries are those of a host that start this server.
func (a *app) entries(h hosts.Host, w wanted) (found []registration, faults []Check) {
	s, err := a.system()
	if err != nil {
		return nil, []Check{bad(h.Name, err)}
	}
	users := ""
	dirs := map[bool]string{false: a.home(), true: s.Dir}
	for _, project := range []bool{false, true} {
		path, err := h.File(s, project, a.Name)
		if err != nil || !s.Exists(path) || path == users { // in the home directory they are one
			continue
		}
		users = path
		_, d, err := document(h, path)
		if err != nil {
			c := bad(h.Name, err)
			if w.host == "" {
				c.Verdict = Warn // another program's file may be as it is
			}
			faults = append(faults, c)
			continue
		}
		for _, r := range d.Entries() {
			if r.Name == w.name || w.name == "" && a.isOurs(r) {
				found = append(found, registration{h, path, startedIn(r.Dir, dirs[project]), project && !w.project, r})
			}
		}
	}
	return found, faults
}

// startedIn is the directory of an entry; usual is that of the host.
func startedIn(dir, usual string) string {
	switch {
	case dir == "":
		return usual
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(usual, dir)
}

// isOurs says that an entry starts this server.
func (a *app) isOurs(r hosts.Registered) bool {
	path, _ := a.path() // where it is not known, the name alone decides
	return r.Is(a.Name, path)
}

// visit looks at one registration. started has which were started already, and for
// which host.
func (a *app) visit(ctx context.Context, r registration, started map[string]string) []Check {
	as := fmt.Sprintf("%s in %s", r.Name, r.file)
	one := func(v Verdict, text, fix string) []Check { return []Check{{v, r.host.Name, text, fix}} }
	switch {
	case !a.isOurs(r.Registered):
		return one(Bad, as+" starts "+r.Command+", which is not "+a.Name, "Name another entry with --name")
	case r.Off:
		return one(Warn, as+" is switched off", "Switch it on in "+r.host.Title)
	case r.untrusted:
		return one(OK, as+" is not started: the file of a project can come from anybody", "doctor --host "+r.host.Name+" --project starts it")
	}

	// What can be seen without starting it.
	its := fmt.Sprintf("%s of %s: ", r.Name, r.file)
	again := "install " + r.host.Name + " writes it anew"
	if found := r.host.Expands(hosts.Entry{Command: r.Command, Args: r.Args}); found != "" {
		return one(Warn, its+"what it starts holds "+found+", which only the host can replace", "Look at it in "+r.host.Title)
	}
	if !filepath.IsAbs(r.Command) {
		return one(Bad, its+r.Command+" is no absolute path, and hosts do not have the PATH of a shell", again)
	}
	info, err := os.Stat(r.Command)
	if err != nil {
		return one(Bad, its+r.Command+" is not there", again)
	}
	if info.IsDir() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return one(Bad, its+r.Command+" cannot be executed", again)
	}
	if info, err := os.Stat(r.dir); err != nil || !info.IsDir() {
		return one(Bad, its+"the directory "+r.dir+", where it is started, is not there", again)
	}

	line := strings.Join(append([]string{r.dir, r.Command}, r.Args...), "\x00") + fmt.Sprint(r.Env)
	if first, known := started[line]; known {
		return one(OK, as+", as with "+first, "")
	}
	started[line] = r.host.Name
	ctx, cancel := context.WithTimeout(ctx, a.limit())
	defer cancel()
	return a.started(ctx, r, as)
}

// started starts the server in both versions of the protocol, and lets it examine itself.
func (a *app) started(ctx context.Context, r registration, as string) []Check {
	var checks []Check
	add := func(v Verdict, text, fix string) { checks = append(checks, Check{v, r.host.Name, text, fix}) }
	const newest = "Install the newest version"
	p := probe{r.Command, r.Args, a.minimal(r.Env), r.dir}
	old, err := p.ask(ctx, legacy)
	if err != nil {
		add(Bad, as+" does not work: "+err.Error(), "Try "+shellLine(append([]string{r.Command}, r.Args...)))
		return checks
	}
	add(OK, fmt.Sprintf("%s answers as version %s after %d ms, and offers %s", as, old.version, old.took.Milliseconds(),
		several(old.tools, "tool")), "")
	if len(old.strays) > 0 {
		add(Warn, fmt.Sprintf("writes to stdout what is no message: %q", old.strays[0]), "Start the server itself, not a script that prints")
	}
	if old.took > 3*time.Second {
		add(Warn, fmt.Sprintf("took %.1f s to answer, and some hosts wait no longer than 10", old.took.Seconds()), "Look at what starts it")
	}
	if mine := a.version().Version; older(old.version, mine) {
		add(Warn, fmt.Sprintf("is version %s, older than this one, %s", old.version, mine), "install "+r.host.Name+" registers this one")
	}
	if now, err := p.ask(ctx, modern); err != nil {
		add(Warn, "does not speak the protocol of "+modern+": "+err.Error(), newest)
	} else if now.tools != old.tools {
		add(Warn, fmt.Sprintf("offers %s in the protocol of %s", several(now.tools, "tool"), modern), newest)
	}
	own, err := p.examined(ctx)
	if err != nil {
		add(Warn, "does not say what a model can touch: "+err.Error(), newest)
	}
	for _, c := range own {
		if c.Subject == aModel {
			add(c.Verdict, aModel+" "+c.Text, c.Fix)
		} else if c.Verdict != OK {
			add(c.Verdict, c.Subject+": "+c.Text, c.Fix)
		}
	}
	return checks
}

// older compares versions of the form 1.2.3; of others it says nothing.
func older(version, than string) bool {
	a, ok := numbers(version)
	b, too := numbers(than)
	return ok && too && slices.Compare(a, b) < 0
}

func numbers(version string) ([]int, bool) {
	n := make([]int, 3)
	got, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d.%d", &n[0], &n[1], &n[2])
	return n, err == nil && got == 3
}

// minimal is the environment that hosts with a window give a server, and the
// variables of the entry.
func (a *app) minimal(own map[string]string) []string {
	var env []string
	for _, name := range inherited {
		if value := a.variable(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if runtime.GOOS == "windows" {
		env = append(env, "PATH="+a.variable("PATH"))
	} else {
		env = append(env, "PATH=/usr/bin:/bin:/usr/sbin:/sbin")
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// inherited are the variables that the SDKs of the protocol pass to servers.
var inherited = []string{
	"HOME", "LOGNAME", "SHELL", "TERM", "USER",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME",
	"USERPROFILE",
}
