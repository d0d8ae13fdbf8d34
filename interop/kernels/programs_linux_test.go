package kernels

// levels of the sandbox that are tried.
var levels = []string{"1", "2"}

// doctor is a server that is asked what is enforced.
type doctor struct{ server, level string }

func doctors() []doctor {
	all := []doctor{{"file-read", ""}, {"file-write", ""}}
	for _, level := range levels {
		all = append(all, doctor{"shell-exec", level})
	}
	return all
}

func (d doctor) String() string {
	if d.level == "" {
		return d.server
	}
	return d.server + " level " + d.level
}

// flags make the server enforce what it can, or refuse to start.
func (d doctor) flags(mode string) []string {
	if d.level == "" {
		return []string{"--restrict", mode}
	}
	return []string{"--sandbox", mode, "--sandbox-level", d.level}
}

// sessions use each server once. A session fails with its first command that fails.
var stories = []struct{ name, script string }{
	{"file-read", `
printf 'one\ntwo\n' >read.txt
file-read call file_read path=read.txt --allow-path . | grep two
file-read call search_content_in_files search_path=. regex_pattern=tw. --allow-path . | grep two
if file-read call file_read path=/etc/passwd --allow-path .; then exit 1; fi
`},
	{"file-write", `
rm -f write.txt
file-write call file_write path=write.txt content=before --allow-path .
file-write call edit_file path=write.txt old_string=before new_string=after --allow-path .
[ "$(cat write.txt)" = after ]
id=$(file-write call list_changes limit=1 --allow-path . --toolsets history | cut -d ' ' -f 1 | head -n 1)
file-write call restore_file change_id=$id --allow-path . --toolsets history
[ "$(cat write.txt)" = before ]
if file-write call file_write path=/tmp/outside content=x --allow-path .; then exit 1; fi
`},
	{"shell-exec", `
shell-exec call shell_exec 'command=echo "sum: $((6 * 7))" | tee sum.txt' --allow-path . --ask deny | grep 'sum: 42'
[ "$(cat sum.txt)" = 'sum: 42' ]
`},
}

// suite is a test binary of ours, and which of its tests depend on the kernel.
type suite struct{ Name, Dir, Run string }

func suites() []suite {
	return []suite{
		{Name: "sandbox", Dir: "shell-exec/internal/sandbox", Run: "Outside|Inside|ConnectedTo|NetworkOn|OutOfReach|Inherited|Group|Survives|GoOn$|ChainOfForks|LimitsHold|Promise|HowItEnded|AtLevelTwo"},
		{Name: "confine", Dir: "shared/confine", Run: "Magic|Environment|Kernels|OutsideStay|Swap|NeverBlock|Gate|Within|Denied|Secrets"},
		{Name: "restrict", Dir: "shared/restrict", Run: "."},
		{Name: "replace", Dir: "shared/replace", Run: "AKill|Swapped|IsKept|Confined|TakenOver|RightsOf|IsMoved$|IsCreated|IsRemoved|DoesWhatItSays"},
	}
}
