// Package rpc is what the transports share of a JSON-RPC message: what they have to know
// of one that comes in, how one that goes out is written, what is known of the client at
// the other end, and its notifications in their order.
//
// It refuses to know what a request means, and to carry anything anywhere: a transport
// does that. It refuses to change an id: what goes back is what the client wrote.
//
// Error codes: JSON-RPC 2.0, section 5.1.
package rpc
