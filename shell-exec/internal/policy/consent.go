package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Sandbox is what a command is restricted to when it runs. What a user's approval could not
// bring about is not asked: it is denied, with the reason. A user who is asked in vain learns to agree
// without reading. The zero Sandbox is none: then an approval brings about everything.
type Sandbox struct {
	Files   bool     // it opens only what its rules name
	Rights  bool     // no program in it gains rights, as sudo does
	Offline bool     // it has no network
	Always  bool     // nothing lifts it, not even an approval
	Read    []string // what it may read outside the workspace

	Containers bool // it may use a container service
}

// need is what has to be there for an effect to happen.
type need int

const (
	nothing    need = iota // every command may do it
	network                // a connection
	homeward               // the home directory among those allowed
	readFile               // one file to be read
	openFile               // one file to be read and changed
	rights                 // those of another user
	containers             // a container service
	outside                // more than any command in a sandbox gets
)

// The reasons why an approval changes nothing.
const (
	notThere   = "the sandbox lets no command change anything there"
	notMachine = "the sandbox lets no command change the machine"
	notOutside = "the sandbox lets no command run programs outside it"
	notDocker  = "the sandbox lets no command use a container service"
	notHome    = "the sandbox lets no command change the user's programs and settings"
	notUnnamed = "the sandbox opens one existing file at most, and only where the command line names it"
	notRights  = "the sandbox gives no command other rights; sudo works only as one command that stands alone, " +
		"without a shell's operators, variables, or input"
)

// consents says what each effect needs, and why an approval does not give it. It is what the
// decision, the question, and the tests go by: TestEveryEffectSaysWhatAYesCanDo requires a row for each
// effect, TestAYesOpensExactlyWhatIsAskedOrIsNotAskedFor the outcome in each kind of sandbox. An effect
// without a need happens inside the sandbox, where every command may do it once it is approved.
var consents = map[effect.Kind]struct {
	need need
	why  string // where the sandbox prevents it
}{
	// Files: the sandbox opens the workspace, and after an approval one file more.
	effect.DeleteVital: {outside, notThere}, effect.DeleteSystem: {outside, notThere}, effect.DeleteOutside: {homeward, notThere},
	effect.DeleteHistory: {}, effect.DeleteWorkspace: {}, effect.DeleteUnknown: {}, effect.DeleteAFile: {},

	effect.WriteAccounts: {outside, notThere}, effect.WriteSystem: {outside, notThere}, effect.WriteStartup: {openFile, notUnnamed},
	effect.WriteOutside: {openFile, notUnnamed}, effect.WriteTrigger: {}, effect.WriteUnknown: {},

	// Credentials, and what leaves the machine. A file that is opened for reading is not opened for a command
	// that sends it: a look at it and a copy of it elsewhere are different things to agree to.
	effect.ReadSecret: {readFile, notUnnamed}, effect.SendSecret: {outside, "the sandbox keeps credentials from a command that sends them"},
	effect.SendFile: {need: network}, effect.SendUnknown: {need: network},
	effect.ConnectShell: {need: network}, effect.ConnectRaw: {need: network},

	// The machine and its users.
	effect.DestroyDisk: {outside, notMachine}, effect.Power: {outside, notMachine}, effect.Kernel: {outside, notMachine},
	effect.Network: {outside, notMachine}, effect.Service: {outside, notMachine}, effect.Packages: {outside, notMachine},
	effect.UserPackages: {homeward, notHome}, effect.Escalate: {rights, notRights}, effect.DiskImage: {}, effect.DestroyData: {},
	effect.KillAll: {outside, "the sandbox lets no command signal other processes"},

	// Code, and what a shell does with it. All of it runs in the sandbox as well.
	effect.RunDownloaded: {need: network}, effect.RunRemote: {need: network}, effect.RunOutside: {outside, notOutside},
	effect.RunDecoded: {}, effect.RunUnknown: {}, effect.RunUnknownCode: {}, effect.RunOutput: {}, effect.RunTerminal: {},
	effect.RunCode: {}, effect.RunFile: {}, effect.RunHijacked: {}, effect.ForkBomb: {}, effect.Substitution: {}, effect.Eval: {},
	effect.Exec: {}, effect.Decode: {}, effect.Alias: {}, effect.Lookalike: {}, effect.Unreadable: {}, effect.TooLarge: {},

	// Work that others see, and containers.
	effect.Discard: {}, effect.PublishVersions: {need: network}, effect.Publish: {need: network}, effect.Infrastructure: {need: network},
	effect.ContainerFiles: {containers, notDocker}, effect.ContainerRights: {containers, notDocker},
	effect.ContainerMount: {containers, notDocker}, effect.ContainerGone: {containers, notDocker},
}

// gaining are the programs that have the rights of root by themselves. One of them alone
// may run outside the sandbox after an approval; nothing else ever does.
var gaining = strings.Fields("sudo doas su pkexec passwd chsh chfn gpasswd newgrp sg")

// lifted says that r, where the user agrees, runs outside the sandbox: one command that
// needs the rights of root, as it is written, with nothing that a client gave it in addition. Anything
// larger would carry other commands out of the sandbox with it, and input or variables would change
// what root does without being part of the words that the user reads (TestSudoInAnythingLargerIsNeverAskedFor,
// TestSudoIsAskedForAloneOnlyAsItStands).
func (r Request) lifted(alone []string) bool {
	return r.Sandbox.Rights && !r.Sandbox.Always && !r.Sandbox.Offline && !r.Typed && !r.Terminal && r.Input == "" && len(r.Given) == 0 &&
		len(alone) > 0 && (!strings.Contains(alone[0], "/") || strings.HasPrefix(alone[0], "/")) && slices.Contains(gaining, path.Base(alone[0]))
}

// obstacle says why f would not happen though the user agrees; "" where it would. A file
// that has to be opened for it is then f.Opens: the one that the command line names, and no directory.
func (r Request) obstacle(f *Finding) string {
	in, row := r.Sandbox, consents[f.Effect]
	atHome := r.Home != "" && within(r.Home, r.Workspace)
	possible := !in.Files
	switch row.need {
	case nothing:
		return ""
	case network:
		if in.Offline {
			return "commands have no network here"
		}
		return ""
	case rights:
		possible = !in.Rights
	case containers:
		possible = possible || in.Containers
	case homeward:
		possible = possible || atHome
	case readFile, openFile:
		// Where the home directory is shared, or the file may be read by every command, nothing has to be opened.
		if possible = possible || f.path == "" && atHome || row.need == readFile && f.path != "" && r.readable(f.path); possible {
			break
		}
		if r.Typed {
			return "the sandbox of a terminal stays as it is"
		}
		if possible = f.path != "" && !in.Always; possible {
			f.Opens, f.Writes = f.path, row.need == openFile
		}
	}
	if possible {
		return ""
	}
	return row.why
}

// readable says that every command may read the file, by the place that its links lead to.
func (r Request) readable(file string) bool {
	if r.Links != nil {
		file = r.Links.Follow(file)
	}
	return within(file, r.Sandbox.Read)
}

// denyVainQuestions denies what the user would be asked in vain. What runs outside the sandbox after an
// approval is not among it, and neither is the question of a rule, which needs nothing of the sandbox.
func (d *Decision) denyVainQuestions() {
	r := d.request
	for i := range d.findings {
		f := &d.findings[i]
		if d.lifted || f.Verdict != Ask || f.Effect == "" {
			continue
		}
		if why := r.obstacle(f); why != "" {
			f.Verdict, f.vain = Deny, true
			f.Why += "; " + why
			f.Do = "Do it another way, or ask the user to run it"
			if row := consents[f.Effect]; (row.need == rights || row.why == notMachine) && r.lifted([]string{"sudo"}) {
				f.Do = "Run it as one sudo command that stands alone, or ask the user to run it"
			}
		}
	}
}

// Asked are the reasons for which the user is asked, each once. They are part of the ID: an approval
// counts for these reasons only.
func (d Decision) Asked() []Finding {
	var all []Finding
	for _, f := range d.findings {
		asked := func(o Finding) bool { return o.Rule == f.Rule && o.Why == f.Why && o.Opens == f.Opens }
		if f.Verdict == Ask && !slices.ContainsFunc(all, asked) {
			all = append(all, f)
		}
	}
	return all
}

// Lifted is the program and its arguments, where an approval has it run outside the sandbox.
func (d Decision) Lifted() []string {
	if d.Verdict() != Ask || !d.lifted {
		return nil
	}
	return slices.Clone(d.alone)
}
