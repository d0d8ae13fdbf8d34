package command

import (
	"time"

	"github.com/multiollama/mcp-server/shared/restrict"
)

// WithRestrict puts f in the place of restrict.Self, which would restrict the
// process of the tests for good.
func (e Environment) WithRestrict(f func(restrict.Rules) (restrict.Report, error)) Environment {
	e.restrict = f
	return e
}

// DefaultAuditFile is the file of --audit-log auto on another system.
var DefaultAuditFile = defaultAuditFile

// ListHosts is config without a host on another system.
var ListHosts = listHosts

// WithLimit shortens how long doctor waits for a registered server.
func (e Environment) WithLimit(d time.Duration) Environment {
	e.limit = d
	return e
}

// Older compares versions.
var Older = older
