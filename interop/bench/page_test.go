package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// measured is a table with a goal that is held, one that is not, a peer that failed
// and one that found something else.
func measured() table {
	return table{Key: "search-small", Title: sections[0].title, About: "About it.", Version: "v1", Missing: []string{"fd"}, Results: []result{
		{Name: "a word", Unit: "ms", Again: 2, Disturbed: 1, Cells: []cell{
			{Side: "ours", Median: 5.8, Samples: 9, Answer: "14"}, {Side: "theirs", Median: 10, Samples: 9, Answer: "15"},
		}, Verdicts: []verdict{{Word: "theirs", Most: 0.65, Measured: 0.58, Known: true}, {Most: 5, Measured: 5.8, Unit: "ms", Known: true}}},
		{Name: "another", Unit: "ms", Cells: []cell{
			{Side: "ours", Median: 0.05, Samples: 9, Answer: "1"}, {Side: "theirs", Failed: "broken\npipe"},
		}, Verdicts: []verdict{{Word: "theirs", Most: 0.65}}},
	}}
}

func TestThePageTellsNumbersGoalsAndDifferences(t *testing.T) {
	text := page(results{Machine: "a machine", Beside: []string{"rg 1", "fd 2"}, Tables: []table{measured()}}, "## Where the time goes\n\nIn the kernel.\n")
	for _, want := range []string{
		"These: a machine; servers v1, beside rg 1, fd 2.",
		"**1 of 3 goals are held.** Not held:",
		"- " + sections[0].title + ", a word: 5.80 ms (goal 5.00 ms), **not held**",
		"| | ours | theirs | found | of the others |\n|---|---:|---:|---:|---|\n",
		"| a word | 5.80 ms | 10.0 ms | 14 | 0.58 of theirs (goal 0.65), held; 5.80 ms (goal 5.00 ms), **not held** |\n",
		"| another | 0.050 ms | – | 1 | not measured of theirs (goal 0.65), **not held** |\n",
		"- theirs found 15 (a word), ours 14\n",
		"- theirs could not do it (another): `broken pipe`\n",
		"- Not installed: fd.\n",
		"2 samples of each side were taken again; 1 had to be kept",
		"\n## Where the time goes\n\nIn the kernel.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

func TestATableThatFailedSaysWhy(t *testing.T) {
	if got := (table{Title: "T", Failed: "no server"}).markdown(); !strings.Contains(got, "`no server`") {
		t.Error(got)
	}
}

func TestTheChartIsXMLAndHasABarForEachKindOfGoal(t *testing.T) {
	all := bars([]table{measured()})
	if len(all) != 2 || !all[0].Held || all[0].Length != pixels(0.58/0.65) || all[1].Held || all[1].Length <= chartGoal {
		t.Errorf("%+v", all)
	}
	d := xml.NewDecoder(strings.NewReader(chartOf([]table{measured()})))
	rects := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	if rects != 2 {
		t.Errorf("%d bars", rects)
	}
}

func TestABarTellsTheWorst(t *testing.T) {
	var b bar
	b.Held = true
	for _, m := range []float64{0.2, 3, 0.5} {
		b.add(verdict{Most: 0.65, Measured: m, Known: true})
	}
	if b.Held || b.held != 2 || b.worst != 3/0.65 || !b.Cut || b.Length != pixels(chartMost) || len(b.Ticks) != 3 {
		t.Errorf("%+v", b)
	}
}

func TestResultsOfOtherSectionsAreKept(t *testing.T) {
	one, other := table{Title: sections[0].title}, table{Title: sections[1].title}
	var r results
	r.put(other)
	r.put(one)
	again := one
	again.Failed = "now"
	r.put(again)
	if len(r.Tables) != 2 || r.Tables[0].Failed != "now" || r.Tables[1].Title != other.Title {
		t.Errorf("%+v", r.Tables)
	}
	if _, err := json.Marshal(measured()); err != nil {
		t.Error(err)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.1234: "0.123", -0.01: "-0.010"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestSectionsAreFoundByTheStartOfTheirKey(t *testing.T) {
	titles := map[string]bool{}
	for _, s := range sections {
		if titles[s.title] {
			t.Errorf("two tables are called %q, and one would replace the other", s.title)
		}
		titles[s.title] = true
		if !s.wanted("") || !s.wanted("x,"+s.key) || s.wanted("none") {
			t.Errorf("%s is wanted at the wrong time", s.key)
		}
	}
	if s := (section{key: "search-big"}); !s.wanted("search") || s.wanted("search-small") {
		t.Error("a key is more than its start")
	}
}
