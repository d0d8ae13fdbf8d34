package guard

import (
	"bytes"
	"slices"
	"strings"
)

// Git takes a directory of any name for a repository, and runs the programs that its
// config and hooks name, if it has a valid HEAD and the directories objects and refs, its
// own or those that commondir leads to. All that git asks of HEAD is its first bytes. So
// no file with these bytes comes to be called HEAD, in whatever order the other parts
// were made; and beside a HEAD that is there already none of the parts is changed.

// repositoryParts are what makes a repository, in their plain form.
var repositoryParts = []string{"head", "config", "config.worktree", "hooks", "commondir", "objects", "refs"}

// Repository is the row of the table for [Protected.JudgeHead] and [Protected.JudgePart].
var Repository = Path{
	Pattern: "HEAD config config.worktree hooks commondir objects refs, in a directory with a valid HEAD",
	Why:     "git takes a directory with a valid HEAD for a repository, and runs its hooks and the commands of its config",
}

// IsHead reports whether git would take content for that of a HEAD: a reference, or the
// hash of a commit.
func IsHead(content []byte) bool {
	if bytes.HasPrefix(content, []byte("ref:")) {
		return true
	}
	const hash = 40 // digits of SHA-1; SHA-256 has more
	return len(content) >= hash && len(bytes.TrimLeft(content[:hash], "0123456789abcdefABCDEF")) == 0
}

// JudgeHead refuses to let content be that of the file rel, relative as for Judge, if git
// would take it for the HEAD of a repository.
func (g Protected) JudgeHead(rel string, content []byte) error {
	way := components(rel)
	if len(way) == 0 || way[len(way)-1] != "head" || !IsHead(content) || g.opens(way, len(way)) {
		return nil
	}
	return refusal(rel, Repository)
}

// JudgePart refuses a path on whose way something is, or would be, a part of a repository.
// headed says whether the directory so many levels above rel has a valid HEAD; it is asked
// only about directories of something that is called like a part.
func (g Protected) JudgePart(rel string, headed func(up int) bool) error {
	names := strings.Split(rel, "/")
	for i, name := range names {
		plain := Plain(name)
		isPart := func(part string) bool { return plain == part || IsShortOf(plain, part) }
		if !slices.ContainsFunc(repositoryParts, isPart) || !headed(len(names)-i) {
			continue
		}
		if !g.opens(components(rel), len(components(strings.Join(names[:i+1], "/")))) {
			return refusal(rel, Repository)
		}
	}
	return nil
}
