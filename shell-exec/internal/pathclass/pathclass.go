// Package pathclass says what kind of place a path is in: in the workspace or outside it,
// among the system's files, among credentials, on a disk.
//
// It never guesses: a path whose beginning is not known is of no known class, and the
// zero Class is that. It looks at a disk only through what it is given, [Links].
package pathclass

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// Class is a kind of place.
type Class int

// The classes.
const (
	Unknown    Class = iota // not known before the command runs
	Workspace               // something in the workspace
	Root                    // the workspace itself, or all that is in it
	History                 // .git as a whole
	Repository              // something in .git
	Trigger                 // runs code later: .git/hooks, .git/config, configuration of editors and agents
	Temporary               // something in a temporary directory
	Shared                  // a temporary directory itself
	Harmless                // /dev/null and its like
	Disk                    // a device that holds a file system, or memory
	Device                  // another device
	Vital                   // /, the home directory, a directory of the system, one that the workspace is in
	System                  // something of the system
	Accounts                // accounts, programs, boot: what the machine depends on
	Secret                  // credentials
	Startup                 // what later shells and logins run
	Outside                 // anything else
)

// severity are the classes, the worst one last.
var severity = []Class{Harmless, Temporary, Workspace, Unknown, Shared, Outside, Repository, Root, Startup, Secret, Trigger, Device, System,
	History, Accounts, Disk, Vital}

var (
	temporaries = []string{"/tmp", "/var/tmp", "/private/tmp"}

	// top are the directories of / that nobody removes.
	top = strings.Fields(`bin boot dev etc lib lib32 lib64 libx32 proc root run sbin sys usr var opt srv home mnt media
		Users System Library Applications Volumes private nix snap`)

	// trees belong to the system with everything in them; programTrees are those whose change changes what every program does.
	trees = strings.Fields(`/bin /boot /etc /lib /lib32 /lib64 /sbin /sys /proc /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec
		/usr/share /usr/include /System /var/lib /var/spool /var/run /run /Library`)
	programTrees = strings.Fields(`/bin /sbin /lib /lib64 /usr/bin /usr/sbin /usr/lib /usr/lib64 /proc /sys`)

	accounts = strings.Fields(`/etc/passwd /etc/group /etc/sudoers /etc/sudoers.d /etc/ld.so.preload /etc/pam.d /proc/sysrq-trigger
		/sys/firmware /etc/fstab /etc/crypttab`)
	systemSecrets = strings.Fields(`/etc/shadow /etc/gshadow /etc/ssl/private /root/.ssh /run/secrets /var/run/secrets`)

	// processSecrets are the environment and the memory of a process, this server's among them, and the keys of the machine.
	processSecrets = regexp.MustCompile(`(?s)^/proc(/.*)?/(environ|mem)$|^/etc/ssh/ssh_host_`)

	// homeSecrets and startup are in the home directory.
	homeSecrets = strings.Fields(`.ssh .aws .gnupg .config/gcloud .kube .netrc .docker/config.json .npmrc .pypirc .azure .config/gh
		.git-credentials .vault-token .pgpass .password-store .local/share/keyrings .mozilla .config/google-chrome
		.cargo/credentials .cargo/credentials.toml .terraform.d/credentials.tfrc.json .config/op .config/rclone`)
	startup = strings.Fields(`.bashrc .bash_profile .profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile .zlogin
		.config/fish .config/autostart .config/systemd .gitconfig .config/git Library/LaunchAgents .vimrc .config/nvim .tmux.conf
		.inputrc .ssh/authorized_keys .ssh/config .ssh/rc .pam_environment .xprofile .xinitrc .local/bin bin .claude .claude.json
		.cursor .codex`)

	// triggers run code when somebody merely opens the workspace: the configuration of editors, agents and direnv.
	triggers = strings.Fields(`.vscode .claude .cursor .codex .gemini .idea .envrc .mcp.json .devcontainer .zed .windsurf`)

	// harmless and disk are names in /dev.
	harmless = regexp.MustCompile(`^(null|stdout|stderr|stdin|tty|zero|full|random|urandom|ptmx)$|^(fd|shm|pts|tcp|udp)/`)
	disk     = regexp.MustCompile(`^(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|md/|dm-\d|mapper/|loop\d|sr\d|k?mem$|` +
		`port$|nbd\d|ram\d|dasd|disk/|cciss|mtd|block|zvol/|vg|[^/]*drive|[a-z]*device$)`)
)

// Links tells where a name leads when symbolic links are followed. A name that does
// not exist leads to itself, its directory's links followed.
type Links interface{ Follow(path string) string }

// Map knows where things are.
type Map struct {
	Home      string
	Workspace []string // the directories that may be worked in
	Temporary []string // in addition to /tmp and /var/tmp
	Links     Links    // nil: paths are taken as they are written
}

// Of is the class of the absolute or relative path t, seen from dir. Links on the way
// are followed; last says that one in the last component is followed too. Of the path
// as written and the path as it leads, the worse class counts.
func (m *Map) Of(dir string, t cmdline.Text, last bool) Class {
	p, all, ok := Absolute(dir, t)
	if !ok {
		return Unknown
	}
	written := m.of(p, all)
	if m.Links == nil || written == Harmless || written == Disk || written == Device {
		return written
	}
	followed := m.of(m.follow(p, last), all)
	if slices.Index(severity, followed) > slices.Index(severity, written) {
		return followed
	}
	return written
}

// Leads is where the path leads when all its links are followed.
func (m *Map) Leads(dir string, t cmdline.Text) cmdline.Text {
	p, _, ok := Absolute(dir, t)
	if !ok || m.Links == nil {
		return p
	}
	return m.follow(p, true)
}

func (m *Map) follow(p cmdline.Text, last bool) cmdline.Text {
	known, rest := p, ""
	if i := strings.IndexFunc(p, cmdline.IsMark); i >= 0 {
		cut := strings.LastIndexByte(p[:i], '/')
		known, rest = p[:cut], p[cut:]
	} else if !last && p != "/" {
		known, rest = path.Dir(p), "/"+path.Base(p)
	}
	if known == "" {
		return p
	}
	return path.Clean(m.Links.Follow(known) + rest)
}

// Absolute makes t absolute and cleans it. all says that it names everything in the
// directory that is returned; ok is false where the beginning is not known.
func Absolute(dir string, t cmdline.Text) (p cmdline.Text, all, ok bool) {
	if t == "" {
		return "", false, false
	}
	if !strings.HasPrefix(t, "/") {
		if dir == "" || strings.IndexFunc(t, isUnknown) == 0 {
			return t, false, false
		}
		t = dir + "/" + t
	}
	for p = path.Clean(t); leavesNothingOut(path.Base(p)); {
		p, all = path.Dir(p), true
	}
	return p, all, true
}

func isUnknown(r rune) bool { return r == cmdline.Hole || r == cmdline.Gap }

// leavesNothingOut knows the patterns *, .*, *.*, ?*, ** and .[!.]*.
func leavesNothingOut(name cmdline.Text) bool {
	if literal := cmdline.Literal(name); literal == ".[!.]*" || literal == ".[^.]*" {
		return true
	}
	return strings.ContainsRune(name, cmdline.Star) && strings.Trim(name, "."+string(cmdline.Star)+string(cmdline.Any)) == ""
}

// of is Of for a cleaned path. Where a part is a pattern or not known, what is before it
// decides.
func (m *Map) of(p cmdline.Text, all bool) Class {
	i := strings.IndexFunc(p, cmdline.IsMark)
	if i < 0 {
		return m.known(p, all)
	}
	fixed, base, onlyPattern := path.Clean(p[:strings.LastIndexByte(p[:i], '/')+1]), path.Base(p), !cmdline.Unknown(p)
	switch in := m.known(fixed, false); {
	case fixed == "/" && onlyPattern:
		return Vital // /b*, /*x
	case fixed == "/":
		return Unknown
	case in == Root: // .g* in the workspace finds .git as well, and .g$x may be .git
		if ok, err := path.Match(cmdline.Literal(base), ".git"); onlyPattern && ok && err == nil {
			return History
		}
		if first := strings.IndexFunc(base, isUnknown); first >= 0 {
			before, after := base[:first], base[strings.LastIndexFunc(base, isUnknown)+len(string(cmdline.Hole)):]
			if before+after != "" && strings.HasPrefix(".git", before) && strings.HasSuffix(".git", after) {
				return Unknown
			}
		}
		return Workspace
	case in == Shared:
		return Temporary
	case in != Vital:
		return in
	case onlyPattern && slices.Contains(top, strings.Trim(fixed, "/")):
		return Vital
	case fixed != m.Home && fixed != "/home" && IsSystem(fixed):
		return System
	}
	return Outside
}

func (m *Map) known(p string, all bool) Class {
	if p == "/" || p == "/dev" {
		return Vital
	}
	if name, ok := strings.CutPrefix(p, "/dev/"); ok {
		switch {
		case harmless.MatchString(name):
			return Harmless
		case disk.MatchString(name):
			return Disk
		}
		return Device
	}
	for _, root := range m.Workspace {
		if p == root {
			return Root
		}
		if rest, ok := strings.CutPrefix(p, root+"/"); ok {
			return inWorkspace(rest)
		}
	}

	// A directory that the workspace or the home directory is in counts in a temporary directory too.
	above := m.Home != "" && Under(m.Home, p) || slices.ContainsFunc(m.Workspace, func(root string) bool { return Under(root, p) })
	temporary, shared := m.temporary(p)
	switch {
	case shared:
		return Shared
	case above:
		return Vital
	case temporary:
		return Temporary
	}
	if rest, ok := strings.CutPrefix(p, m.Home+"/"); ok && m.Home != "" {
		switch {
		case within(rest, startup):
			return Startup
		case within(rest, homeSecrets) && !strings.HasSuffix(rest, ".pub") && !strings.HasSuffix(rest, "known_hosts"):
			return Secret
		}
		return Outside
	}
	return inSystem(p, all)
}

// temporary says that p is in a temporary directory, or is one.
func (m *Map) temporary(p string) (in, is bool) {
	atHome := m.Home != "" && Under(p, m.Home)
	for _, dir := range slices.Concat(temporaries, m.Temporary) {
		nearer := atHome && m.Home != dir && Under(m.Home, dir) // the home directory, than dir
		if dir != "" && dir != "/" && Under(p, dir) && !nearer {
			return true, p == dir
		}
	}
	return false, false
}

// inWorkspace looks at a path relative to the workspace, case aside because some file
// systems do not tell .GIT from .git.
func inWorkspace(rel string) Class {
	parts := strings.Split(strings.ToLower(rel), "/")
	for i, part := range parts {
		switch {
		case slices.Contains(triggers, part):
			return Trigger
		case part != ".git":
		case i == len(parts)-1:
			return History
		case slices.Contains([]string{"hooks", "config", "modules"}, parts[i+1]):
			return Trigger
		case strings.HasSuffix(rel, ".lock"):
			return Workspace // git leaves these behind, and people remove them
		default:
			return Repository
		}
	}
	return Workspace
}

func inSystem(p string, all bool) Class {
	parts := strings.Split(strings.Trim(p, "/"), "/")
	switch {
	case within(p, accounts) || Under(p, "/boot") && p != "/boot":
		return Accounts
	case within(p, systemSecrets) || processSecrets.MatchString(p):
		return Secret
	case len(parts) == 1 && slices.Contains(top, parts[0]):
		return Vital
	case len(parts) == 2 && (slices.Contains([]string{"usr", "var", "home", "Users"}, parts[0]) || parts[0] == "etc" && all):
		return Vital
	case slices.Contains(trees, p):
		return Vital
	case within(p, programTrees) && !strings.HasPrefix(p, "/sys/fs/cgroup/"):
		return Accounts
	case within(p, trees):
		return System
	}
	return Outside
}

func within(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Under(p, dir) })
}

// Under says that p is dir or in it.
func Under(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// IsSystem says that p is a directory of the operating system, not of a person or a service.
func IsSystem(p string) bool {
	name := strings.TrimPrefix(p, "/")
	return p == "/" || within(p, trees) || slices.Contains(top, name) &&
		!slices.Contains([]string{"home", "Users", "mnt", "media", "opt", "srv"}, name)
}
