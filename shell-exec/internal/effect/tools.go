package effect

import (
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// container is docker run and exec: the command runs in a container, on its files.
func (r *reader) container(s *scope, c *call) {
	for _, o := range c.args.Options {
		switch {
		case o.Name == "--security-opt" && o.Valued && !strings.Contains(o.Value.Text, "no-new-privileges"):
			r.flag(s, ContainerRights, c.row.Name+" "+o.Name+" weakens the container's walls", c.span)
		case (o.Name == "--pid" || o.Name == "--ipc") && o.Value.Text == "host":
			r.flag(s, ContainerRights, c.row.Name+" shares the machine's processes", c.span)
		}
	}
	if len(c.args.Operands) < 2 {
		return
	}
	inner := s.within(c.row.Name)
	inner.container = true
	if len(r.world.Workspace) > 0 { // most often that is what the container works on
		inner.dir = r.world.Workspace[0]
	}
	r.call(inner, c.args.Operands[1:], c.span)
}

// mount is a directory of the machine that a container gets.
func (r *reader) mount(s *scope, c *call, w cmdline.Word) {
	source, _, _ := strings.Cut(strings.TrimPrefix(w.Text, "="), ":")
	for _, part := range strings.Split(w.Text, ",") {
		for _, key := range []string{"source=", "src="} {
			if v, ok := strings.CutPrefix(part, key); ok {
				source = v
			}
		}
	}
	if strings.HasSuffix(source, ".sock") && containsAny(source, "docker", "podman", "containerd") {
		r.flag(s, ContainerRights, "gives the container control of the container service", c.span)
		return
	}
	if !strings.ContainsAny(source, "/.~"+hole) {
		return // a volume by its name
	}
	switch r.places.Of(s.dir, source, true) {
	case pathclass.Vital, pathclass.System, pathclass.Accounts, pathclass.Disk, pathclass.Secret, pathclass.Startup:
		r.flag(s, ContainerRights, "gives "+cmdline.Show(source)+" of this machine to a container", c.span)
	case pathclass.Outside:
		r.flag(s, ContainerMount, "gives "+cmdline.Show(source)+" of this machine to a container", c.span)
	}
}

func (r *reader) containerCopy(s *scope, c *call) {
	if n := len(c.args.Operands); n > 1 && !strings.Contains(c.args.Operands[n-1].Text, ":") {
		r.write(s, c.args.Operands[n-1], c.row.Name+" to")
	}
}

// unknownOperands: docker rm $(docker ps -aq) takes all there are.
func (r *reader) unknownOperands(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if cmdline.Unknown(w.Text) {
			r.flag(s, ContainerGone, c.row.Name+" deletes what is not known before", c.span)
			return
		}
	}
}

func (r *reader) kubectl(s *scope, c *call) {
	operands := c.args.Operands
	if len(operands) == 0 || operands[0].Text != "exec" {
		return
	}
	for i, w := range c.words {
		if w.Text == "--" {
			inner := s.within("kubectl exec")
			inner.dir, inner.container = "/w", true
			r.call(inner, c.words[i+1:], c.span)
			return
		}
	}
}

func (r *reader) npmLocation(s *scope, c *call) {
	if f, ok := r.file(s, "package.json"); ok && f.kind == literal {
		inner := s.within(c.name)
		inner.exact, inner.outer, inner.input = false, c.span, flow{}
		for _, text := range literalsOf(f.text) {
			r.perhapsShell(inner, text, c.name)
		}
	}
	if len(c.args.Operands) > 2 && c.args.Operands[0].Text == "pkg" && c.args.Operands[1].Text == "set" {
		for _, w := range c.args.Operands[2:] {
			r.role(s, c, "setting", w, c.name+" pkg set")
		}
	}
	for _, o := range c.args.Options {
		if o.Name == "--location" && o.Value.Text == "global" {
			r.flag(s, UserPackages, c.name+" changes programs of the user", c.span)
		}
	}
}

func (r *reader) goInstall(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if strings.Contains(w.Text, "@") {
			r.flag(s, UserPackages, "go install puts a program where the user's are", c.span)
		}
	}
}

// forge is gh and glab, where a request that only reads is told by its method.
func (r *reader) forge(s *scope, c *call) {
	if len(c.args.Operands) == 0 {
		return
	}
	text := " " + strings.Join(cmdline.Texts(c.words), " ")
	switch c.args.Operands[0].Text {
	case "api":
		other := strings.Contains(text, " -X") && !strings.Contains(text, " -X GET") || strings.Contains(text, " --method") && !strings.Contains(text, "GET")
		if other || strings.Contains(text, "mutation") {
			r.flag(s, Publish, c.name+" changes things on the forge", c.span)
		}
	case "alias":
		for _, w := range c.args.Operands {
			if script, ok := strings.CutPrefix(w.Text, "!"); ok {
				r.shell(s, w.With(script), c.name+" alias")
			}
		}
	}
}
