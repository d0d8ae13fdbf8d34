// Package shown holds what people are shown to what the programs do: the picture of the
// servers, the configurations of configs/, the deployments of deploy/ and the pages of
// docs/. It builds the servers and starts them as these say.
//
// It refuses a page whose commands answer something else than it prints, a configuration
// that a server does not take, and a deployment that grants more than its table says.
package shown
