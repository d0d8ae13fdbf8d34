package output

import (
	"errors"
	"slices"

	"github.com/multiollama/mcp-server/shared/fault"
)

// ours are codes that would be about the caller's file if they came from the store's.
var ours = []fault.Code{fault.NotFound, fault.Exists, fault.ParamInvalid, fault.ParamMalformed, fault.Forbidden, fault.OutsideAllowed}

// failed is an error of the operating system about the store's own files. An error that has its code already stays.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if told, ok := errors.AsType[*fault.Error](err); ok {
		return told
	}
	f := fault.From(err)
	if slices.Contains(ours, f.Code) {
		f = fault.New(fault.Unavailable, "a file of them is missing or of the wrong kind", "")
	}
	do := "Ask the person who runs this server to look at its state directory"
	if f.Code == fault.DiskFull {
		do = f.Do
	}
	return fault.New(f.Code, "the stored outputs cannot be "+what+", since "+f.Msg, do).Because(err)
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "there is no stored output with this id, or no longer", "List the outputs to see what is there").
		With("output_id", id)
}
