package sandbox

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestAsAnOrdinaryUser(t *testing.T) {
	if level() == 2 {
		t.Skip("level 2 is tried by whoever runs the tests")
	}
	mcptest.AsOrdinaryUser(t, "Promise|SurvivesAKill$|JobControl|Reaches|OutOfReach|NoFileTells|StillServes|FilesMove|LeavesOthers|WithoutScopes|ABI3|Owners|Objects|OwnLocal|EachOther|RulesName|OwnServers|RunsAsSomebody")
}
