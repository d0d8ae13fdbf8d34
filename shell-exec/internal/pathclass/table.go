package pathclass

import (
	"regexp"
	"slices"
	"strings"
)

var temporaries = []string{"/tmp", "/var/tmp", "/private/tmp"}

// top are the directories of / that nobody removes.
var top = setOf(`bin boot dev etc lib lib32 lib64 libx32 proc root run sbin sys usr var opt srv home mnt media
	Users System Library Applications Volumes private nix snap`)

// trees belong to the system with all that is beneath them.
var trees = strings.Fields(`/bin /boot /etc /lib /lib32 /lib64 /sbin /sys /proc /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec
	/usr/share /usr/include /System /var/lib /var/spool /var/run /run /Library`)

// programs are the trees whose change changes what every program does.
var programs = strings.Fields(`/bin /sbin /lib /lib64 /usr/bin /usr/sbin /usr/lib /usr/lib64 /proc /sys`)

var accounts = strings.Fields(`/etc/passwd /etc/group /etc/sudoers /etc/sudoers.d /etc/ld.so.preload /etc/pam.d /proc/sysrq-trigger
	/sys/firmware /etc/fstab /etc/crypttab`)

var systemSecrets = strings.Fields(`/etc/shadow /etc/gshadow /etc/ssl/private /root/.ssh /run/secrets /var/run/secrets`)

// homeSecrets and startup are beneath the home directory.
var homeSecrets = strings.Fields(`.ssh .aws .gnupg .config/gcloud .kube .netrc .docker/config.json .npmrc .pypirc .azure .config/gh
	.git-credentials .vault-token .pgpass .password-store .local/share/keyrings .mozilla .config/google-chrome
	.cargo/credentials .cargo/credentials.toml .terraform.d/credentials.tfrc.json .config/op .config/rclone`)

var startup = strings.Fields(`.bashrc .bash_profile .profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile .zlogin
	.config/fish .config/autostart .config/systemd .gitconfig .config/git Library/LaunchAgents .vimrc .config/nvim .tmux.conf
	.inputrc .ssh/authorized_keys .ssh/config .ssh/rc .pam_environment .xprofile .xinitrc .local/bin bin .claude .claude.json .cursor .codex`)

// triggers run code when somebody merely opens the workspace: the configuration of
// editors, agents and direnv.
var triggers = setOf(`.vscode .claude .cursor .codex .gemini .idea .envrc .mcp.json .devcontainer .zed .windsurf`)

var harmless = setOf(`null stdout stderr stdin tty zero full random urandom ptmx`)

var disk = regexp.MustCompile(`^(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|md/|dm-\d|mapper/|loop\d|sr\d|k?mem$|port$|nbd\d|ram\d|dasd|disk/|cciss|mtd|block|zvol/|vg|[^/]*drive|[a-z]*device$)`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func device(name string) Class {
	for _, dir := range []string{"fd/", "shm/", "pts/", "tcp/", "udp/"} {
		if strings.HasPrefix(name, dir) {
			return Harmless
		}
	}
	switch {
	case harmless[name]:
		return Harmless
	case disk.MatchString(name):
		return Disk
	}
	return Device
}

// inWorkspace looks at a path relative to the workspace, case aside because some file
// systems do not tell .GIT from .git.
func inWorkspace(rel string) Class {
	parts := strings.Split(strings.ToLower(rel), "/")
	for i, part := range parts {
		if triggers[part] {
			return Trigger
		}
		if part != ".git" {
			continue
		}
		if i == len(parts)-1 {
			return History
		}
		if next := parts[i+1]; next == "hooks" || next == "config" || next == "modules" {
			return Trigger
		}
		if strings.HasSuffix(rel, ".lock") {
			return Workspace // git leaves these behind, and people remove them
		}
		return Repository
	}
	return Workspace
}

func inHome(rel string) Class {
	switch {
	case within(rel, startup):
		return Startup
	case within(rel, homeSecrets) && !strings.HasSuffix(rel, ".pub") && !strings.HasSuffix(rel, "known_hosts"):
		return Secret
	}
	return Outside
}

func within(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Under(p, dir) })
}

func inSystem(p string, all bool) Class {
	parts := strings.Split(strings.Trim(p, "/"), "/")
	switch {
	case within(p, accounts) || Under(p, "/boot") && p != "/boot":
		return Accounts
	case within(p, systemSecrets) || isProcessSecret(p) || strings.HasPrefix(p, "/etc/ssh/ssh_host_"):
		return Secret
	case len(parts) == 1 && top[parts[0]]:
		return Vital
	case len(parts) == 2 && (parts[0] == "usr" || parts[0] == "var" || parts[0] == "home" || parts[0] == "Users" || parts[0] == "etc" && all):
		return Vital
	case slices.Contains(trees, p):
		return Vital
	case within(p, programs) && !strings.HasPrefix(p, "/sys/fs/cgroup/"):
		return Accounts
	case within(p, trees):
		return System
	}
	return Outside
}

// isProcessSecret: the environment and the memory of a process, this server's among them.
func isProcessSecret(p string) bool {
	return strings.HasPrefix(p, "/proc/") && (strings.HasSuffix(p, "/environ") || strings.HasSuffix(p, "/mem"))
}

// IsSystem says that p is a directory of the operating system, not of a person or a service.
func IsSystem(p string) bool {
	if p == "/" || within(p, trees) {
		return true
	}
	name := strings.TrimPrefix(p, "/")
	return top[name] && !slices.Contains([]string{"home", "Users", "mnt", "media", "opt", "srv"}, name)
}
