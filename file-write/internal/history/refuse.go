package history

import (
	"errors"
	"slices"

	"github.com/multiollama/mcp-server/shared/fault"
)

// ours are codes that would be about the caller's file if they came from the store's.
var ours = []fault.Code{fault.NotFound, fault.Exists, fault.ParamInvalid, fault.ParamMalformed, fault.Forbidden, fault.OutsideAllowed}

// failed is an error of the operating system about the store's own files. An error
// that has its code already stays as it is.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if told, ok := errors.AsType[*fault.Error](err); ok {
		return told
	}
	f := fault.From(err)
	if slices.Contains(ours, f.Code) {
		f = fault.New(fault.Unavailable, "a file of it is missing or of the wrong kind", "")
	}
	return fault.New(f.Code, "the history of changes cannot be "+what+", since "+f.Msg,
		"Ask the person who runs this server to look at its state directory").Because(err)
}

func damaged(c Change, how string) error {
	return fault.New(fault.Unavailable, "the content that was kept for this change is damaged: "+how,
		"Do not use what was read of it; an older or newer change of the same path may help").
		With("id", c.ID).With("path", c.Path)
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "the history has no change with this id, or no longer", "List the changes to see what is there").With("id", id)
}
