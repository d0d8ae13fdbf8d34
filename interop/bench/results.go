package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// table is a section that was measured.
type table struct {
	Key, Title, About string
	Version           string // of our servers
	Results           []result
	Missing           []string // what was not installed
	Failed            string   // why there are no results
}

// results are kept between runs, so that one section can be measured alone.
type results struct {
	Machine string
	Beside  []string // programs of others, with their versions
	Tables  []table
}

// loadResults are those of an earlier run on this machine, none if there was none.
func loadResults(file string) results {
	now := results{Machine: machine()}
	var r results
	if b, err := os.ReadFile(file); err != nil || json.Unmarshal(b, &r) != nil || r.Machine != now.Machine {
		return now
	}
	return r
}

func (r results) save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// put replaces the table of a title and keeps the order of the page.
func (r *results) put(t table) {
	var all []table
	for _, s := range sections {
		i := slices.IndexFunc(r.Tables, func(old table) bool { return old.Title == s.title })
		switch {
		case s.title == t.Title:
			all = append(all, t)
		case i >= 0:
			all = append(all, r.Tables[i])
		}
	}
	r.Tables = all
}

func (w *world) version() string {
	out, _ := exec.Command(w.read, "--version").Output()
	f := strings.Fields(string(out))
	if len(f) == 0 {
		return ""
	}
	return f[len(f)-1]
}
