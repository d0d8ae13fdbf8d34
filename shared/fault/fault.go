// Package fault gives every failure a code from one closed table, a sentence
// that says what happened, and one that says what to do instead.
//
// It refuses to carry a cause to the caller: [Error.Err] is for the audit log
// and for errors.Is, never for the text that a client or a model sees. It
// imports nothing else of this project.
package fault

import (
	"errors"
	"maps"
	"strings"
)

// Code is one of the 22 codes of the error table (document 001). It is an
// error itself, so that errors.Is(err, fault.NotFound) asks for a kind.
type Code string

// The 22 codes. There are no others.
const (
	TokenMissing     Code = "AUTH_001" // HTTP: no bearer token
	TokenWrong       Code = "AUTH_002" // HTTP: wrong bearer token
	PermissionDenied Code = "AUTH_003" // the OS or the granted toolsets refuse

	ParamMissing   Code = "PARAM_001" // a required parameter is absent
	ParamInvalid   Code = "PARAM_002" // out of range, or makes no sense
	ParamMalformed Code = "PARAM_003" // wrong type, or not well-formed

	NoProcess    Code = "RESOURCE_001" // no such process
	NoTerminal   Code = "RESOURCE_002" // no such terminal
	NotFound     Code = "RESOURCE_003" // no such file, directory, output or execution
	Exists       Code = "RESOURCE_004" // already there, or not the version expected
	LimitReached Code = "RESOURCE_005" // a rate, size or count is used up

	StartFailed    Code = "EXECUTION_001" // the command could not be started
	TimedOut       Code = "EXECUTION_002" // the deadline passed
	OutOfMemory    Code = "EXECUTION_003" // memory limit
	DiskFull       Code = "EXECUTION_004" // no space, or quota
	NetworkRefused Code = "EXECUTION_005" // network access refused

	Internal      Code = "SYSTEM_001" // a fault of ours
	Unavailable   Code = "SYSTEM_002" // a needed part is not available here
	Misconfigured Code = "SYSTEM_003" // configuration

	DangerousCommand Code = "SECURITY_001" // command refused by policy
	OutsideAllowed   Code = "SECURITY_002" // directory not allowed
	Forbidden        Code = "SECURITY_003" // any other policy: link, binary, protected
)

// Codes lists the table in its order.
func Codes() []Code {
	return []Code{
		TokenMissing, TokenWrong, PermissionDenied,
		ParamMissing, ParamInvalid, ParamMalformed,
		NoProcess, NoTerminal, NotFound, Exists, LimitReached,
		StartFailed, TimedOut, OutOfMemory, DiskFull, NetworkRefused,
		Internal, Unavailable, Misconfigured,
		DangerousCommand, OutsideAllowed, Forbidden,
	}
}

// Error makes a Code usable with errors.Is.
func (c Code) Error() string { return string(c) }

// Category is the part of the code before its number, "SECURITY" for one.
func (c Code) Category() string {
	category, _, _ := strings.Cut(string(c), "_")
	return category
}

// Error is a failure as its caller may see it. Msg and Do are sentences without
// a final stop; Do may be empty where there is nothing to do.
type Error struct {
	Code    Code
	Msg     string         // what happened
	Do      string         // what to do instead
	Details map[string]any // for programs: limits, the component that is a link, …
	Err     error          // the cause: audited, never sent
}

// New is an Error with a code, what happened, and what to do instead.
func New(code Code, msg, do string) *Error {
	return &Error{Code: code, Msg: msg, Do: do}
}

// With is a copy of e that also tells value under key in its details.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Because is a copy of e that keeps its cause for the audit log.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Sentence is what happened and what to do, for a person or a model.
func (e *Error) Sentence() string {
	if e.Do == "" {
		return e.Msg + "."
	}
	return e.Msg + ". " + e.Do + "."
}

// Error is the code and the sentence; the cause is not in it.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Sentence() }

// Unwrap gives errors.Is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is says that an Error is its code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// From turns any error into an Error: one that already is stays as it is, one
// from the operating system gets the code of errno.go, and what nobody foresaw
// becomes Internal with a fixed text, its cause kept for the audit log.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, table := range [][]cause{platformCauses, portable} {
		for _, row := range table {
			if errors.Is(err, row.is) {
				return New(row.code, row.msg, row.do).Because(err)
			}
		}
	}
	return New(Internal, "the server met a fault of its own", "Report it with the request_id; trying again may work").Because(err)
}

// FromOwn is From for an error about a file of the server's own. A code that would be about a file of the client's
// becomes Unavailable, with missing as the message.
func FromOwn(err error, missing string) *Error {
	e := From(err)
	switch e.Code {
	case NotFound, Exists, ParamInvalid, ParamMalformed, Forbidden, OutsideAllowed:
		return New(Unavailable, missing, "")
	}
	return e
}
