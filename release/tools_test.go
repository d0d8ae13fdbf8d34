package main

import "testing"

func TestAnotherVersionOfAProgramIsBuiltAgain(t *testing.T) {
	for _, o := range []outsider{goreleaser, cyclonedx} {
		this, err := o.file()
		must(t, err)
		o.version += "1"
		next, err := o.file()
		must(t, err)
		if this == next {
			t.Errorf("%s is taken for %s", this, o.version)
		}
	}
}
