package cmdspec

import "testing"

func TestTheTableCanBeRead(t *testing.T) {
	table, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.rows); n < 400 {
		t.Errorf("only %d programs", n)
	}
}
