package process

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// records are the files about detached jobs, a directory of them for each project:
//
//	key                 what records are signed with, made by the first who needs it
//	PROJECT/ID.json     a record and its signature
//
// A record says which processes are signalled, so one that somebody else wrote, changed, or took to another project or name
// is none.
type records struct {
	root    *os.Root
	project string
	key     []byte
}

// signed is a record as its file has it.
type signed struct {
	Job json.RawMessage `json:"job"`
	MAC []byte          `json:"mac"`
}

const (
	jobFile = ".json"
	keyFile = "key"
	keySize = sha256.Size
)

// errForged is the error of a file that is no record of ours, or of nobody's that can be read.
var errForged = errors.New("the record of a job has no right signature")

func openRecords(dir, project string) (records, error) {
	if !isProject(project) {
		return records{}, fault.New(fault.Internal, "the records of detached jobs have no project", "")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return records{}, noState(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // this user's alone
		return records{}, noState(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return records{}, noState(err)
	}
	key, err := keyIn(root)
	if err != nil {
		return records{}, noState(errors.Join(err, root.Close()))
	}
	return records{root, project, key}, nil
}

func noState(err error) error {
	return fault.New(fault.Misconfigured, "the directory for detached jobs cannot be used",
		"Give the server a state directory of its own").Because(err)
}

// keyIn is the key of all records, made where there is none.
func keyIn(root *os.Root) ([]byte, error) {
	f, err := root.OpenFile(keyFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := flock.Wait(context.Background(), f, "the key of detached jobs"); err != nil {
		return nil, err
	}
	key, err := io.ReadAll(io.LimitReader(f, keySize))
	if err != nil || len(key) == keySize {
		return key, err
	}
	key = make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	if _, err = f.WriteAt(key, 0); err == nil {
		err = f.Sync()
	}
	return key, err
}

// isProject says whether a word can be the directory of a project.
func isProject(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == "" && word != keyFile
}

func fileOf(project, id string) string { return path.Join(project, id+jobFile) }

// projects are those that have records. Files beside them are of an earlier version, and signed by nobody.
func (r records) projects() []string {
	entries, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		switch {
		case e.IsDir() && isProject(e.Name()):
			all = append(all, e.Name())
		case strings.HasPrefix(e.Name(), "exec_"):
			_ = r.root.Remove(e.Name())
		}
	}
	return all
}

// ids are the records of a project, by their names.
func (r records) ids(project string) []string {
	entries, err := fs.ReadDir(r.root.FS(), project)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), jobFile); ok && isID(id) {
			all = append(all, id)
		}
	}
	return all
}

// read is a record that one of our supervisors wrote under this name in this project.
func (r records) read(project, id string) (job, error) {
	text, err := r.root.ReadFile(fileOf(project, id))
	if err != nil {
		return job{}, err
	}
	var file signed
	var found job
	if json.Unmarshal(text, &file) != nil || !hmac.Equal(file.MAC, r.sign(project, id, file.Job)) ||
		json.Unmarshal(file.Job, &found) != nil || found.ID != id {
		return job{}, errForged
	}
	return found, nil
}

func (r records) sign(project, id string, text []byte) []byte {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(fileOf(project, id) + "\n"))
	mac.Write(text)
	return mac.Sum(nil)
}

// write replaces the file of a job: who reads it sees the old one or the new one.
func (r records) write(j job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(signed{text, r.sign(r.project, j.ID, text)}); err != nil {
		return err
	}
	name := fileOf(r.project, j.ID)
	if old, err := r.root.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return nil
	}
	err = r.replace(name, text)
	if errors.Is(err, fs.ErrNotExist) { // another server has just removed the directory, which was empty
		err = r.replace(name, text)
	}
	return err
}

func (r records) replace(name string, text []byte) error {
	if err := r.root.Mkdir(r.project, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	draft := strings.TrimSuffix(name, jobFile) + ".new"
	if err := r.root.WriteFile(draft, text, 0o600); err != nil {
		_ = r.root.Remove(draft)
		return err
	}
	return r.root.Rename(draft, name)
}
