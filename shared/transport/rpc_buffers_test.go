package transport

import "testing"

func TestABufferIsUsedAgainWhereItIsEnough(t *testing.T) {
	var k encoder
	again := 0
	for range 100 { // the race detector loses some of what is put back
		b := append(k.buffer(100), "something"...)
		k.reuse(b)
		c := k.buffer(50)
		if len(c) != 0 || cap(c) < 50 {
			t.Fatalf("%d of %d bytes", len(c), cap(c))
		}
		if &c[:1][0] == &b[0] {
			again++
		}
		if d := k.buffer(1000); len(d) != 0 || cap(d) < 1000 {
			t.Fatalf("%d of %d bytes", len(d), cap(d))
		}
	}
	if again == 0 {
		t.Error("nothing was used again")
	}
}

func TestAVeryLargeBufferIsNotKept(t *testing.T) {
	var k encoder
	k.reuse(make([]byte, maxBuffer+1))
	if b := k.buffer(1); cap(b) > maxBuffer {
		t.Errorf("%d bytes were kept", cap(b))
	}
}
