package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/fault"
)

// post takes one message. From here on the client may know what the protocol says.
func (s *served) post(w http.ResponseWriter, r *http.Request, who client) {
	size := int(r.ContentLength)
	if size < 0 {
		size = s.o.MaxBody // it does not say
	}
	work := &call{Size: size}
	if no := s.begin(work); no != nil {
		s.refuse(w, r, no)
		return
	}
	defer s.calls.end(work)
	body, no := s.read(w, r)
	if no != nil {
		s.refuse(w, r, no)
		return
	}
	out := &reply{s: s, w: w, limits: http.NewResponseController(w), streams: accepts(r, eventStream), plain: accepts(r, "application/json")}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		out.refuse(http.StatusBadRequest, &refusal{Code: mcp.PARSE_ERROR, Text: "the body is empty; send a JSON-RPC message"})
		return
	}
	m, wrong := parse(body)
	if wrong == nil {
		wrong = matches(m, body, r.Header)
	}
	if wrong != nil {
		out.refuse(http.StatusBadRequest, wrong)
		return
	}

	id := r.Header.Get(mcp.HeaderSessionID)
	info, ours := introduced(id, who)
	switch {
	case m.Modern:
		id = "" // 2026-07-28 has no sessions
	case id != "" && !ours:
		out.refuse(http.StatusNotFound, &refusal{
			Code: mcp.INVALID_REQUEST, Text: "the session is not one of this client on this server; initialize again", ID: m.ID,
		})
		return
	}
	from := &httpSession{session: session{peer: &peer{}, id: who.id(), modern: m.Modern}, client: who, reply: out}
	from.Initialize()
	if !m.Modern {
		from.SetClientInfo(info)
		from.SetProtocolVersion(r.Header.Get(mcp.HeaderProtocolVersion))
	}
	switch {
	case m.isCancel():
		s.calls.drop(id+" "+m.Cancels, errCancelled)
	case !m.isNotification() && !m.isAnswer():
		s.call(out, r, from, work, id, m, body)
		return
	}
	w.WriteHeader(http.StatusAccepted) // other notifications leave nothing to remember, and have no response
}

// httpMaxUnsent is how many bytes of answers may wait. Above it nothing more is begun.
const httpMaxUnsent = 64 << 20

// begin admits a request, or says why not.
func (s *served) begin(work *call) *rejection {
	err := s.calls.begin(work)
	if others, _ := s.calls.state(); err == nil && s.unsent.Load()+int64(others-1)*answerRoom > httpMaxUnsent {
		s.calls.end(work)
		err = errFull
	}
	if err == nil {
		return nil
	}
	no := reject(http.StatusServiceUnavailable, fault.LimitReached, "too many requests are being worked on",
		"Send this one again when others are answered")
	if err == errEnding {
		no.fault = fault.New(fault.Unavailable, "the server is ending", "Send the request again: another server, or the next one, takes it")
	}
	no.later = true
	return no
}

// chunk is as much as must come, or go, within the pace.
const chunk = 64 << 10

// paced is how long the next chunk may take to come.
func (s *served) paced(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.o.Pace)) // where it cannot be set there is none
}

// read takes the body as long as it keeps the pace, which it is held to from its head on.
func (s *served) read(w http.ResponseWriter, r *http.Request) ([]byte, *rejection) {
	from := http.MaxBytesReader(w, r.Body, int64(s.o.MaxBody))
	var body bytes.Buffer
	body.Grow(int(max(0, min(r.ContentLength, int64(s.o.MaxBody)))))
	for {
		_, err := io.CopyN(&body, from, chunk)
		_, large := errors.AsType[*http.MaxBytesError](err)
		switch {
		case err == nil:
			s.paced(w)
			continue
		case large:
			return nil, s.tooLarge()
		case err != io.EOF:
			return nil, reject(http.StatusRequestTimeout, fault.TimedOut, "the body came too slowly, or not whole", "Send it again")
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a call takes as long as it takes
		return body.Bytes(), nil
	}
}

// call brings a request to its response. It ends when the client goes away, cancels it,
// or the server must end.
func (s *served) call(out *reply, r *http.Request, from *httpSession, work *call, id string, m message, body []byte) {
	ctx, cancel := context.WithCancelCause(s.o.Trace(r.Context(), r.Header))
	defer cancel(nil)
	name := "" // without a session, nothing names the request but its connection
	if id != "" {
		name = id + " " + m.Key
	}
	s.calls.register(work, m, name, cancel)
	out.beat(s.o.Beat)
	defer out.close()
	if m.isListen() {
		from.id = fmt.Sprintf("%s/listen/%d", from.id, s.streams.Add(1))
		from.stream = m.ID
		if err := s.h.RegisterSession(ctx, from); err != nil {
			out.finish(http.StatusOK, internalError(), m.ID)
			return
		}
		defer s.h.UnregisterSession(context.WithoutCancel(ctx), from.id)
	}
	response := s.h.HandleMessage(s.h.WithContext(s.o.Context(ctx, idText(m.ID)), from), body)
	from.flush()
	if work.dropped.Load() {
		out.finish(http.StatusNoContent, nil, nil) // a cancelled request is answered no more
		return
	}
	if response == nil {
		response = internalError()
	}
	if r, ok := response.(mcp.JSONRPCResponse); ok && m.Method == string(mcp.MethodInitialize) {
		// The session id says who the client is: nothing is remembered here.
		out.w.Header().Set(mcp.HeaderSessionID, sessionOf(from.GetClientInfo(), from.client))
		if result, ok := r.Result.(mcp.InitializeResult); ok && result.Capabilities.Resources != nil {
			can := *result.Capabilities.Resources
			can.Subscribe = false
			result.Capabilities.Resources = &can
			r.Result = result
		}
		response = r
	}

	// 2026-07-28 has statuses for some errors, so that what stands between can act on them.
	status := http.StatusOK
	if e, failed := response.(mcp.JSONRPCError); failed && m.Modern {
		switch e.Error.Code {
		case mcp.METHOD_NOT_FOUND:
			status = http.StatusNotFound
		case mcp.INTERNAL_ERROR:
		default:
			status = http.StatusBadRequest
		}
	}
	out.finish(status, response, m.ID)
}

// matches compares the head of a request with its message: what stands before us may have
// decided by the head. What the head says is compared in every version of the protocol;
// 2026-07-28 also requires that it is there.
func matches(m message, body []byte, h http.Header) *refusal {
	no := func(code int, text string) *refusal { return &refusal{Code: code, Text: text, ID: m.ID} }
	if _, sent := h[mcp.HeaderMethod]; sent && h.Get(mcp.HeaderMethod) != m.Method {
		return no(mcp.HEADER_MISMATCH, "the header Mcp-Method does not match the method of the message")
	}
	if _, sent := h[mcp.HeaderName]; sent {
		head, decoded := mcp.DecodeHeaderValue(h.Get(mcp.HeaderName))
		name, named := mcp.ExtractHeaderName(mcp.MCPMethod(m.Method), paramsOf(body))
		if !decoded || !named || head != name {
			return no(mcp.HEADER_MISMATCH, "the header Mcp-Name does not match the name or URI of the message")
		}
	}

	version := h.Get(mcp.HeaderProtocolVersion)
	switch modern := m.Modern || mcp.IsModernProtocol(version); {
	case !modern && (version == "" || mcp.IsValidProtocolVersion(version) || m.Method == string(mcp.MethodInitialize)):
		return nil
	case !modern:
		return no(mcp.INVALID_REQUEST, "the protocol version in Mcp-Protocol-Version is not one of this server")
	case m.isAnswer():
		return no(mcp.INVALID_REQUEST, "there are no requests to the client in this protocol version, so there is nothing to answer")
	case m.isNotification() && m.Version == "":
		return nil
	case version == "":
		return no(mcp.HEADER_MISMATCH, "the header Mcp-Protocol-Version is missing")
	case m.Version == "":
		return no(mcp.INVALID_PARAMS, "_meta lacks "+mcp.MetaKeyProtocolVersion)
	case version != m.Version:
		return no(mcp.HEADER_MISMATCH, "the protocol versions in Mcp-Protocol-Version and in _meta differ")
	case m.isNotification() || !mcp.IsValidProtocolVersion(m.Version): // the handler refuses it and lists those that are valid
		return nil
	}
	if err := mcp.ValidateStandardHeaders(h.Get, m.Version, mcp.MCPMethod(m.Method), paramsOf(body)); err != nil {
		return no(mcp.HEADER_MISMATCH, err.Error())
	}
	return nil
}

func paramsOf(body []byte) json.RawMessage {
	var of struct {
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(body, &of) // it was parsed before
	return of.Params
}
