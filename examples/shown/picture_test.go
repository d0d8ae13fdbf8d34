package shown

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestThePictureIsWhatIsDrawn(t *testing.T) {
	svg, err := picture()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	mcptest.Golden(t, "../../docs/picture.svg", svg)
}
