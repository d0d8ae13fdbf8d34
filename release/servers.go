package main

// server is what a release says of a server that its program does not say itself.
type server struct {
	name    string
	summary string   // at most 100 characters, which is what the MCP registry takes
	asks    []string // settings that a bundle lets a person choose, besides the directories
	base    string   // image that the published one stands on
}

// servers are those that are released. Nothing changes it.
var servers = map[string]server{
	"file-read": {
		name:    "file-read",
		summary: "Read, list, find and search files under the directories you allow. It cannot write.",
		asks:    []string{"deny-secrets"},
		base:    "scratch",
	},
	"file-write": {
		name:    "file-write",
		summary: "Create, edit, move and copy files under the directories you allow. Every change can be undone.",
		asks:    []string{"deny-secrets"},
		base:    "scratch",
	},
	"shell-exec": {
		name:    "shell-exec",
		summary: "Run commands that a policy has judged, in a sandbox that the kernel keeps.",
		asks:    []string{"preset", "network"},
		base:    "debian:trixie-slim",
	},
}

const (
	repository = "https://github.com/multiollama/mcp-server"
	modules    = "github.com/multiollama/mcp-server/"
	images     = "ghcr.io/multiollama/"
	authors    = "The mcp-server authors"
)

// packageName is the server's name where names are shared with all the world.
func (s server) packageName() string { return "mcp-server-" + s.name }

// registryName is its name in the MCP registry.
func (s server) registryName() string { return "io.github.multiollama/" + s.name }

// tag is what the go command knows its release by.
func (s server) tag(version string) string { return s.name + "/" + version }

// page is the tag that its release at GitHub hangs on: the MCP registry takes no address
// of a bundle with a slash in the tag.
func (s server) page(version string) string { return s.name + "-" + version }

// image is its image in a registry.
func (s server) image(version string) string { return images + s.name + ":" + bare(version) }

// download is where a file of its release lies.
func (s server) download(version, file string) string {
	return repository + "/releases/download/" + s.page(version) + "/" + file
}

// bare is a version without its v, as packages write it.
func bare(version string) string { return version[1:] }
