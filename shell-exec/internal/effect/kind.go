package effect

import "slices"

// Kind names what a command does and to what.
type Kind string

// The kinds of effects. The zero Kind is none of them.
const (
	DeleteVital     Kind = "delete.vital"        // the system, the home directory, a parent of the workspace
	DeleteSystem    Kind = "delete.system"       // a file of the system
	DeleteHistory   Kind = "delete.history"      // .git
	DeleteWorkspace Kind = "delete.workspace"    // the whole workspace
	DeleteOutside   Kind = "delete.outside"      // something outside the workspace
	DeleteUnknown   Kind = "delete.unknown"      // a tree that is not known before it runs
	DeleteAFile     Kind = "delete.unknown-file" // a file that is not known before it runs
	WriteAccounts   Kind = "write.accounts"      // accounts, programs or the boot of the machine
	WriteSystem     Kind = "write.system"        // another file of the system
	WriteStartup    Kind = "write.startup"       // what later shells, logins or tools run
	WriteTrigger    Kind = "write.trigger"       // what git, editors or agents run in the workspace
	WriteOutside    Kind = "write.outside"       // outside the workspace
	WriteUnknown    Kind = "write.unknown"       // a place that is not known before it runs
	ReadSecret      Kind = "read.secret"         // credentials
	SendSecret      Kind = "send.secret"         // credentials leave the machine
	SendFile        Kind = "send.file"           // a file or a program's output leaves the machine
	SendUnknown     Kind = "send.unknown"        // a text not known before leaves the machine
	ConnectShell    Kind = "connect.shell"       // a shell joined to the network
	ConnectRaw      Kind = "connect.raw"         // a connection below the usual protocols
	DestroyDisk     Kind = "disk.destroy"        // a device or a file system
	DiskImage       Kind = "disk.image"          // a file system in a file
	DestroyData     Kind = "data.destroy"        // a database
	Power           Kind = "machine.power"       // the machine stops
	Kernel          Kind = "machine.kernel"      // modules, mounts, settings of the kernel
	Network         Kind = "machine.network"     // addresses, routes, the firewall
	Service         Kind = "machine.service"     // services and settings of the machine
	Packages        Kind = "machine.packages"    // packages of the machine
	UserPackages    Kind = "user.packages"       // programs of the user
	KillAll         Kind = "process.all"         // every process
	Escalate        Kind = "escalate"            // other rights than the server's
	RunDownloaded   Kind = "run.downloaded"      // code straight from the network
	RunDecoded      Kind = "run.decoded"         // code that was hidden in an encoding
	RunUnknown      Kind = "run.unknown"         // a program not known before
	RunUnknownCode  Kind = "run.unknown-code"    // a script not known before
	RunOutput       Kind = "run.output"          // what another command prints, as a script
	RunRemote       Kind = "run.remote"          // on another machine
	RunOutside      Kind = "run.outside"         // on this machine, but outside the sandbox
	RunTerminal     Kind = "run.terminal"        // an interactive shell or interpreter
	RunCode         Kind = "run.code"            // code of an interpreter on the command line
	RunFile         Kind = "run.file"            // a file that has not been read
	RunHijacked     Kind = "run.hijacked"        // makes other programs run or load something
	ForkBomb        Kind = "shell.fork-bomb"
	Substitution    Kind = "shell.substitution"
	Eval            Kind = "shell.eval"
	Exec            Kind = "shell.exec"
	Decode          Kind = "shell.decode"     // a decoder, whatever becomes of its output
	Alias           Kind = "shell.alias"      // an alias of the same script
	Lookalike       Kind = "shell.lookalike"  // a program's name with characters that deceive
	Unreadable      Kind = "shell.unreadable" // what cannot be read with certainty
	TooLarge        Kind = "shell.too-large"  // more work than is done for one command
	Discard         Kind = "versions.discard" // work that is in no commit, or history
	PublishVersions Kind = "versions.publish" // git push
	Publish         Kind = "publish"          // registries, forges
	Infrastructure  Kind = "infrastructure.change"
	ContainerFiles  Kind = "container.files" // inside a container
	ContainerRights Kind = "container.privileged"
	ContainerMount  Kind = "container.mount"
	ContainerGone   Kind = "container.destroy"
)

// Kinds lists them all.
func Kinds() []Kind {
	return []Kind{
		DeleteVital, DeleteSystem, DeleteHistory, DeleteWorkspace, DeleteOutside, DeleteUnknown, DeleteAFile,
		WriteAccounts, WriteSystem, WriteStartup, WriteTrigger, WriteOutside, WriteUnknown,
		ReadSecret, SendSecret, SendFile, SendUnknown, ConnectShell, ConnectRaw,
		DestroyDisk, DiskImage, DestroyData, Power, Kernel, Network, Service, Packages, UserPackages, KillAll, Escalate,
		RunDownloaded, RunDecoded, RunUnknown, RunUnknownCode, RunOutput, RunRemote, RunOutside, RunTerminal, RunCode, RunFile, RunHijacked,
		ForkBomb, Substitution, Eval, Exec, Decode, Alias, Lookalike, Unreadable, TooLarge,
		Discard, PublishVersions, Publish, Infrastructure, ContainerFiles, ContainerRights, ContainerMount, ContainerGone,
	}
}

// Valid says that k is one of them.
func (k Kind) Valid() bool { return slices.Contains(Kinds(), k) }
