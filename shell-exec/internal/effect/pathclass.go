package effect

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// pathClass is what a path belongs to: the workspace, the system, credentials, a diskDevices.
type pathClass int

// The classes.
const (
	classUnknown    pathClass = iota // not known before the command runs
	classWorkspace                   // something in the workspace
	classRoot                        // the workspace itself, or all that is in it
	classHistory                     // .git as a whole
	classRepository                  // something in .git
	classTrigger                     // runs code later: .git/hooks, .git/config, configuration of editors and agents
	classTemporary                   // something in a temporary directory
	classShared                      // a temporary directory itself
	classHarmless                    // /dev/null and its like
	classDisk                        // a device that holds a file system, or memory
	classDevice                      // another device
	classVital                       // /, the home directory, a directory of the system, one that the workspace is in
	classSystem                      // something of the system
	classAccounts                    // accounts, programs, boot: what the machine depends on
	classSecret                      // credentials
	classStartup                     // what later shells and logins run
	classOutside                     // anything else
)

// severity are the classes, the worst one last.
var severity = []pathClass{
	classHarmless, classTemporary, classWorkspace, classUnknown, classShared, classOutside, classRepository, classRoot, classStartup,
	classSecret, classTrigger, classDevice, classSystem, classHistory, classAccounts, classDisk, classVital,
}

var (
	temporaries = []string{"/tmp", "/var/tmp", "/private/tmp"}

	// top are the directories of / that nobody removes.
	top = strings.Fields(`bin boot dev etc lib lib32 lib64 libx32 proc root run sbin sys usr var opt srv home mnt media
		Users System Library Applications Volumes private nix snap`)

	// systemTrees belong to the system with everything in them; programTrees are those whose change changes what every program does.
	systemTrees = strings.Fields(`/bin /boot /etc /lib /lib32 /lib64 /sbin /sys /proc /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec
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

	// These match names in /dev.
	harmlessDevices = regexp.MustCompile(`^(null|stdout|stderr|stdin|tty|zero|full|random|urandom|ptmx)$|^(fd|shm|pts|tcp|udp)/`)
	diskDevices     = regexp.MustCompile(`^(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|md/|dm-\d|mapper/|loop\d|` +
		`sr\d|k?mem$|port$|nbd\d|ram\d|dasd|disk/|cciss|mtd|block|zvol/|vg|[^/]*drive|[a-z]*device$)`)
)

// Links follows symbolic links. A name that does not exist leads to itself, its
// directory's links followed.
type Links interface{ Follow(path string) string }

// classifier knows the directories that decide the class of a path.
type classifier struct {
	Home      string
	Workspace []string // the directories that may be worked in
	Temporary []string // in addition to /tmp and /var/tmp
	Links     Links    // nil: paths are taken as they are written
}

// class is the class of the absolute or relative path t, seen from dir. Links on the way
// are followed; last says that one in the last component is followed too. Of the path
// as written and the path as it leads, the worse class counts.
func (c *classifier) class(dir string, t cmdline.Text, last bool) pathClass {
	p, all, ok := absolute(dir, t)
	if !ok {
		return classUnknown
	}
	written := c.classify(p, all)
	if c.Links == nil || written == classHarmless || written == classDisk || written == classDevice {
		return written
	}
	followed := c.classify(c.follow(p, last), all)
	if slices.Index(severity, followed) > slices.Index(severity, written) {
		return followed
	}
	return written
}

// resolve is where the path leads when all its links are followed.
func (c *classifier) resolve(dir string, t cmdline.Text) cmdline.Text {
	p, _, ok := absolute(dir, t)
	if !ok || c.Links == nil {
		return p
	}
	return c.follow(p, true)
}

func (c *classifier) follow(p cmdline.Text, last bool) cmdline.Text {
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
	return path.Clean(c.Links.Follow(known) + rest)
}

// absolute makes t absolute and cleans it. all says that it names everything in the
// directory that is returned; ok is false where the beginning is not known.
func absolute(dir string, t cmdline.Text) (p cmdline.Text, all, ok bool) {
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

// classify is class for a cleaned path. Where a part is a pattern or not known, what is before it
// decides.
func (c *classifier) classify(p cmdline.Text, all bool) pathClass {
	i := strings.IndexFunc(p, cmdline.IsMark)
	if i < 0 {
		return c.classifyKnown(p, all)
	}
	fixed, base, onlyPattern := path.Clean(p[:strings.LastIndexByte(p[:i], '/')+1]), path.Base(p), !cmdline.Unknown(p)
	switch in := c.classifyKnown(fixed, false); {
	case fixed == "/" && onlyPattern:
		return classVital // /b*, /*x
	case fixed == "/":
		return classUnknown
	case in == classRoot: // .g* in the workspace finds .git as well, and .g$x may be .git
		if ok, err := path.Match(cmdline.Literal(base), ".git"); onlyPattern && ok && err == nil {
			return classHistory
		}
		if first := strings.IndexFunc(base, isUnknown); first >= 0 {
			before, after := base[:first], base[strings.LastIndexFunc(base, isUnknown)+len(string(cmdline.Hole)):]
			if before+after != "" && strings.HasPrefix(".git", before) && strings.HasSuffix(".git", after) {
				return classUnknown
			}
		}
		return classWorkspace
	case in == classShared:
		return classTemporary
	case in != classVital:
		return in
	case onlyPattern && slices.Contains(top, strings.Trim(fixed, "/")):
		return classVital
	case fixed != c.Home && fixed != "/home" && isSystem(fixed):
		return classSystem
	}
	return classOutside
}

func (c *classifier) classifyKnown(p string, all bool) pathClass {
	if p == "/" || p == "/dev" {
		return classVital
	}
	if name, ok := strings.CutPrefix(p, "/dev/"); ok {
		switch {
		case harmlessDevices.MatchString(name):
			return classHarmless
		case diskDevices.MatchString(name):
			return classDisk
		}
		return classDevice
	}
	for _, root := range c.Workspace {
		if p == root {
			return classRoot
		}
		if rest, ok := strings.CutPrefix(p, root+"/"); ok {
			return inWorkspace(rest)
		}
	}

	// A directory that the workspace or the home directory is in counts in a temporary directory too.
	above := c.Home != "" && Under(c.Home, p) || slices.ContainsFunc(c.Workspace, func(root string) bool { return Under(root, p) })
	temporary, shared := c.temporary(p)
	switch {
	case shared:
		return classShared
	case above:
		return classVital
	case temporary:
		return classTemporary
	}
	if rest, ok := strings.CutPrefix(p, c.Home+"/"); ok && c.Home != "" {
		switch {
		case within(rest, startup):
			return classStartup
		case within(rest, homeSecrets) && !strings.HasSuffix(rest, ".pub") && !strings.HasSuffix(rest, "known_hosts"):
			return classSecret
		}
		return classOutside
	}
	return inSystem(p, all)
}

// temporary says that p is in a temporary directory, or is one.
func (c *classifier) temporary(p string) (in, is bool) {
	atHome := c.Home != "" && Under(p, c.Home)
	for _, dir := range slices.Concat(temporaries, c.Temporary) {
		nearer := atHome && c.Home != dir && Under(c.Home, dir) // the home directory, than dir
		if dir != "" && dir != "/" && Under(p, dir) && !nearer {
			return true, p == dir
		}
	}
	return false, false
}

// inWorkspace looks at a path relative to the workspace, case aside because some file
// systems do not tell .GIT from .git.
func inWorkspace(rel string) pathClass {
	parts := strings.Split(strings.ToLower(rel), "/")
	for i, part := range parts {
		switch {
		case slices.Contains(triggers, part):
			return classTrigger
		case part != ".git":
		case i == len(parts)-1:
			return classHistory
		case slices.Contains([]string{"hooks", "config", "modules"}, parts[i+1]):
			return classTrigger
		case strings.HasSuffix(rel, ".lock"):
			return classWorkspace // git leaves these behind, and people remove them
		default:
			return classRepository
		}
	}
	return classWorkspace
}

func inSystem(p string, all bool) pathClass {
	parts := strings.Split(strings.Trim(p, "/"), "/")
	switch {
	case within(p, accounts) || Under(p, "/boot") && p != "/boot":
		return classAccounts
	case within(p, systemSecrets) || processSecrets.MatchString(p):
		return classSecret
	case len(parts) == 1 && slices.Contains(top, parts[0]):
		return classVital
	case len(parts) == 2 && (slices.Contains([]string{"usr", "var", "home", "Users"}, parts[0]) || parts[0] == "etc" && all):
		return classVital
	case slices.Contains(systemTrees, p):
		return classVital
	case within(p, programTrees) && !strings.HasPrefix(p, "/sys/fs/cgroup/"):
		return classAccounts
	case within(p, systemTrees):
		return classSystem
	}
	return classOutside
}

func within(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Under(p, dir) })
}

// Under says that p is dir or in it.
func Under(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// isSystem says that p is a directory of the operating system, not of a person or a service.
func isSystem(p string) bool {
	name := strings.TrimPrefix(p, "/")
	return p == "/" || within(p, systemTrees) || slices.Contains(top, name) &&
		!slices.Contains([]string{"home", "Users", "mnt", "media", "opt", "srv"}, name)
}
