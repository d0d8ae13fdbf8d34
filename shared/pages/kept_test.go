package pages

import "testing"

func TestRoomIsUsedAgainWhereItIsEnough(t *testing.T) {
	var k Kept
	again := 0
	for range 100 { // the race detector loses some of what is given back
		b := append(k.Room(100), "something"...)
		k.Back(b)
		c := k.Room(50)
		if len(c) != 0 || cap(c) < 50 {
			t.Fatalf("%d of %d bytes", len(c), cap(c))
		}
		if &c[:1][0] == &b[0] {
			again++
		}
		if d := k.Room(1000); len(d) != 0 || cap(d) < 1000 {
			t.Fatalf("%d of %d bytes", len(d), cap(d))
		}
	}
	if again == 0 {
		t.Error("nothing was used again")
	}
}

func TestVeryLargeRoomIsNotKept(t *testing.T) {
	var k Kept
	k.Back(make([]byte, mostKept+1))
	if b := k.Room(1); cap(b) > mostKept {
		t.Errorf("%d bytes were kept", cap(b))
	}
}

func TestATextIsWhatTheBytesAre(t *testing.T) {
	for _, s := range []string{"", "a", "日本"} {
		if got := Text([]byte(s)); got != s {
			t.Errorf("%q is %q", s, got)
		}
	}
	if Text(nil) != "" {
		t.Error("nothing is something")
	}
}
